"""Human labels of saved answers: sampled, shown on a page or in a sheet, stored in the runs, compared with each
other and with the scores of judges.
"""
