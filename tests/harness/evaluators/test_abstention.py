"""Answers that say there is no answer, however much they explain, and answers that only sound like it."""

import pytest

from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import ABSTENTION, abstains, canonical

ABSTENTIONS = [
    # The contract's phrase, and why.
    "Insufficient information: the passages do not mention the merger.",
    "Insufficient information, the passages only discuss football.",
    "Insufficient information - no passage names the buyer.",
    "Insufficient information\u2014the articles are about another firm.",
    "Insufficient information (the context covers only 2022).",
    "Insufficient information because the articles do not say so.",
    "Insufficient information, because Google is named in another context.",
    "Insufficient information as neither article mentions the date.",
    "Insufficient information since the documents are unrelated.",
    "Insufficient information given that the sources disagree.",
    "Insufficient information [1].",
    "Insufficient information [1][3]: the passages do not mention it [2].",
    "Insufficient information. Source: [1]",
    "**Insufficient information**\n\nThe passages cover the trial, the verdict, and the appeal, not the judge.",
    "Insufficient information. The article states that Google was sued, but does not say by whom.",
    "Insufficient information. TechCrunch discusses the launch; The Verge does not mention a price.",
    "Insufficient information. More context is needed.",
    "Insufficient information. Please provide the article from Wired.",
    "I don't have any information about that. Is there anything else I can help you with?",
    "I'm sorry, but I cannot provide a list of reasons, as the document covers only 1830.",
    "Insufficient information. Note: the passages do not cover Dr. Smith.",
    "Insufficient information.\n\nInsufficient information.",
    "INSUFFICIENT INFORMATION!!!",
    "Insufficient information to determine which company, Google or Apple, paid more.",
    "Insufficient information, but the passages do not rule it out.",
    "Insufficient information regarding the CEO's salary in the given passages.",
    "Answer: Insufficient information: the passages do not say.",
    "No, insufficient information: the second article is missing.",
    # Of other tools: RAGFlow, Azure, AnythingLLM, LightRAG, LlamaIndex, LangChain.
    "The answer you are looking for is not found in the knowledge base!",
    "The requested information is not found in the retrieved data. Please try another query or topic.",
    "There is no relevant information in this workspace to answer your query.",
    "Sorry, I'm not able to provide an answer to that question.",
    "Empty Response",
    "Hmm, I'm not sure.",
    "The search results do not contain an answer.",
    "No relevant content was found in the knowledge base.",
    # Other words.
    "Information not available",
    "Information is not available.",
    "This information is not provided in the passages.",
    "Information about the price is not given.",
    "Information unavailable",
    "No passage mentions it",
    "None of the passages mention the founder, the chairman, or the owner.",
    "Neither article says who founded it.",
    "None of the provided articles contain the answer.",
    "Nothing in the passages says when it closed.",
    "There is no mention of a merger in the passages.",
    "The passages do not mention Mr. Smith.",
    "The passages don't explicitly state the year.",
    "Passages 1 and 2 do not mention it.",
    "The passages provide no information about the price.",
    "The article gives no details.",
    "The documents are silent on the matter.",
    "The passages fail to specify the amount.",
    "The passages mention Google but do not say when it was founded.",
    "Although the passages mention Google, they do not say when it was founded.",
    "The name of the judge is not mentioned in the passages.",
    "The passages are not relevant to the question.",
    "Based on the provided passages, it is not possible to determine the answer.",
    "I could not find any information about this in the passages.",
    "I found no mention of it.",
    "I'm not sure.",
    "It is unclear from the passages.",
    "Without more context, I cannot answer.",
    "Cannot be determined from the passages, as they do not cover 2024.",
    "I do not know whether it is likely.",
    "The context isn't sufficient to answer.",
    "I'm sorry, but I can't find the answer in the passages.",
    # What is not known may have causes.
    "Insufficient information about what caused the crash.",
    "Insufficient information about the person who caused the crash.",
    "Insufficient information about the damage it caused investors.",
    "There is insufficient information about the recall caused by the defect.",
    "There isn't enough information about the events that prompted the lawsuit.",
    "Not enough information about whether the merger led to layoffs.",
    "There is no information in the passages about why the merger led to layoffs.",
    "Insufficient information regarding the costs.",
    "No information was provided about which company led the round.",
    "There is no evidence in the passages to answer the question.",
    # What is not known may be something that was done.
    "No information about customers was found.",
    "No information about the CEO of the company was provided in the passages.",
    "No information about this was provided to answer the question.",
    "No information about the merger is available to me.",
    "No information about the price was made available.",
    "No information about the deal was disclosed.",
    "No information about who was fired.",
    "No information about when the company was founded.",
    "No information about the year the company was founded.",
    "No information about the year Google was founded.",
    "No information about the data that was leaked.",
    "No information about the customers whose data was stolen.",
    "No information about the person he was replaced by.",
    "No information about the crime the man was convicted of.",
    "No information about the product Apple was recently sued over.",
    "No information about the prize Smith was awarded.",
    "No information about the price is given, as the passages cover only 2022.",
    "There is no information about whether customers were told.",
    "There is not enough information about the customers affected by the breach.",
    "There's not enough info here to tell.",
    "It's impossible to say from the passages.",
]

ANSWERS = [
    "The search results were manipulated.",
    "No documents were found in the car.",
    "The model cannot answer questions about 2024.",
    "The dataset does not contain personal data.",
    # The contract's phrase, and an answer besides.
    "Insufficient information, but the answer is Google.",
    "Insufficient information. Google.",
    "Insufficient information: Google",
    "Insufficient information (Google)",
    "Insufficient information - Google",
    "Insufficient information; Google and Apple.",
    "Insufficient information\nGoogle",
    "Insufficient information. No.",
    "Insufficient information, so no.",
    "Insufficient information. It was Sam Altman.",
    "Insufficient information. OpenAI was founded by Sam Altman.",
    "Insufficient information, the passages name Google.",
    "Insufficient information. The passages suggest Google.",
    "Insufficient information. Although I would say Google.",
    "Insufficient information, although Google is mentioned.",
    "Insufficient information because the files are gone, but probably Google.",
    "Insufficient information. The answer is likely Google.",
    "Insufficient information. It seems to be Google.",
    "Google (insufficient information)",
    "Google. Insufficient information.",
    "I don't know, Google.",
    "The passages do not say, but I think it was Google.",
    "The context does not mention Google, it names Apple.",
    "Unknown. Answer: Google",
    # The words in another sense.
    "No passage disputes that X won",
    "No, the article does not mention a ban",
    "No, neither passage says so.",
    "No, Google is not mentioned in the article.",
    "The information is not available to the public until 2024",
    "Not available in Europe",
    "Insufficient evidence led to the acquittal",
    "Insufficient information was given to voters",
    "Insufficient information sharing between agencies",
    "Insufficient information, poor training and bad weather",
    "Insufficient information provided by Facebook",
    "Insufficient medical evidence",
    "Insufficient information about risks caused the crash",
    "Insufficient information on the side effects led to the recall",
    "Not enough information about the costs led investors to sell",
    "Lack of information about the virus delayed the response",
    "Insufficient information about the crash prompted a lawsuit",
    "Insufficient information in the documents caused the delay",
    "No information about the price was the complaint",
    "There is no evidence in the documents of fraud",
    "Lack of evidence",
    "Lack of nutritional information",
    "Lack of context awareness",
    "No evidence was found",
    "No information was leaked",
    "No personal information was provided",
    "No information about customers was leaked",
    "No information about customers was leaked.",
    "No information about the customers of the bank was stolen",
    "No information about users has been sold to advertisers.",
    "No information about him was ever recorded",
    "No information about minors is stored",
    "No information about customers was shared with third parties",
    "No information about the side effects was given to patients",
    "No relevant information regarding the trial was withheld",
    "Not enough information about the risks was given to voters",
    "Insufficient information on the defect was passed to regulators",
    "Too little information about the virus was collected",
    "No details were shared with the press",
    "No text messages were sent",
    "No one mentions it",
    "No one knows",
    "They do not know",
    "unknown artist",
    "An unknown number of people",
    "Not sure-footed",
    "The Unknown Soldier",
    "The articles do not agree.",
    "The articles do not say the same.",
    "The passages contain a recipe.",
    "The passages discuss football and tennis.",
    "Information Society",
    "Information technology is not available to farmers.",
    "It could not provide enough ventilators",
    "It was unable to make a profit",
    "It cannot be verified by third parties",
    "Unable to make payments",
    "Not found guilty",
    "Nothing but football",
    "Nothing was said at the meeting",
    "The suspect was not named",
    "He said that there was insufficient information.",
]


@pytest.mark.parametrize("answer", ABSTENTIONS)
def test_an_abstention_may_explain_itself(answer: str) -> None:
    assert abstains(answer)
    assert canonical(answer) == ABSTENTION
    assert is_right(answer, ["Insufficient information."])


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_states_an_answer_is_no_abstention(answer: str) -> None:
    assert not abstains(answer)
    assert not is_right(answer, ["Insufficient information."])


@pytest.mark.parametrize("answer", ["Google", "Yes", "Sam Bankman-Fried", "In March 2023", "Both articles"])
@pytest.mark.parametrize("joint", [": ", ". ", "\n", ", ", " - ", " (", "; ", ", but ", ", probably "])
def test_an_answer_behind_the_contracts_phrase_is_never_hidden_by_it(answer: str, joint: str) -> None:
    assert not abstains(f"Insufficient information{joint}{answer}")


@pytest.mark.parametrize("answer", [*ABSTENTIONS, *ANSWERS])
def test_a_citation_decides_nothing(answer: str) -> None:
    assert abstains(f"{answer} [2]") == abstains(answer)


@pytest.mark.parametrize("answer", ABSTENTIONS)
def test_a_guess_at_the_end_takes_an_abstention_back(answer: str) -> None:
    assert not abstains(f"{answer} My best guess is Google.")
