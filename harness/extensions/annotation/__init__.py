"""People's labels of saved answers: drawn, shown on a page or in a sheet, kept in the runs, held against each
other and against the scores of judges.
"""
