"""The fixed texts of guided discovery: topics, instructions and examples.

The examples are about tools that no real catalogue is likely to have, so that no answer can be
copied from them.
"""

from __future__ import annotations

COMPUTED = "calculation or conversion"
GREETING = "greeting, thanks or goodbye"
ASSISTANT = "question about the assistant"
OPINION = "opinion or feeling"
KNOWLEDGE = "general knowledge"
WRITING = "writing, rewriting or translating a text"
TALK = (GREETING, ASSISTANT, OPINION, KNOWLEDGE, WRITING)

DUE_PROMPT = f"""\
Sort the message: under the name of the tool group that does what it asks, or under one of the \
other topics.

Examples, with other tools (Music: play_song, list_songs; Weather: get_forecast; Mail: \
send_mail, read_mail):
Play some jazz. -> {{"topic": "Music"}}
Hello there! -> {{"topic": "{GREETING}"}}
Will it rain in Oslo tomorrow? -> {{"topic": "Weather"}}
Who painted the Mona Lisa? -> {{"topic": "{KNOWLEDGE}"}}
What is the mean of 4, 8 and 15? -> {{"topic": "{COMPUTED}"}}
Make this sentence shorter: I am of the opinion that it is late. -> {{"topic": "{WRITING}"}}
Mail Anna that I am late. -> {{"topic": "Mail"}}
Which is nicer, summer or winter? -> {{"topic": "{OPINION}"}}
Sort 9.5, 3 and 7. -> {{"topic": "{COMPUTED}"}}
What are you able to do? -> {{"topic": "{ASSISTANT}"}}
Which songs are there? -> {{"topic": "Music"}}
Why do leaves fall? -> {{"topic": "{KNOWLEDGE}"}}
See you! -> {{"topic": "{GREETING}"}}"""

SERVER_EXAMPLES = """\
Examples, with other groups:
Request: Play some jazz. -> {"group": "Music"}
Request: Will it rain in Oslo tomorrow? -> {"group": "Weather"}
Request: Mail Anna that I am late. -> {"group": "Mail"}
Request: What is the mean of 4, 8 and 15? -> {"group": "Statistics"}"""

PICK_EXAMPLES = """\
Examples, with other tools:
Request: Play some jazz. -> {"tool": "music__play_song"}
Request: Will it rain in Oslo tomorrow? -> {"tool": "weather__get_forecast"}
Request: Mail Anna that I am late. -> {"tool": "mail__send_mail"}
Request: What is the mean of 4, 8 and 15? -> {"tool": "statistics__mean"}
Request: Which mails are there? -> {"tool": "mail__list_mails"}
Request: Is there a song with moon in its title? -> {"tool": "music__find_songs"}"""

SEVERAL_PROMPT = """\
Does the request ask for one thing, or for several things one after another?

Examples:
Request: Play some jazz. -> {"asks_for": "one thing"}
Request: Get the weather of Oslo and mail it to Anna. -> {"asks_for": "several things"}
Request: Will it rain in Oslo tomorrow? -> {"asks_for": "one thing"}
Request: What is the mean of 4 and 8, and what is the mean of 6 and 9? \
-> {"asks_for": "several things"}
Request: Mail Anna that I am late. -> {"asks_for": "one thing"}
Request: Find the song Moon and play it. -> {"asks_for": "several things"}
Request: Which songs are there? -> {"asks_for": "one thing"}"""


SEARCH_PROMPT = """\
What the request is about was read, but it is too long to be shown. Name the one word or number \
that stands near the answer; name "" where all of it is wanted.

Examples:
Request: Which songs has the band Moonlight? -> {"search": "Moonlight"}
Request: Open my diary and tell me when the dentist comes. -> {"search": "dentist"}
Request: Sum up the news. -> {"search": ""}
Request: What did order 4711 cost? -> {"search": "4711"}
Request: Read mails.txt and say whether Anna wrote. -> {"search": "Anna"}
Request: Show me all songs. -> {"search": ""}
Request: When does it rain in Oslo this week? -> {"search": "Oslo"}
Request: How many pages has the book? -> {"search": "pages"}"""


ANSWER_PROMPT = """\
Answer the request from the results, in one plain sentence.

Examples:
Request: Will it rain in Oslo tomorrow?
Done: weather__get_forecast {"place": "Oslo"}
Result: {"rain_mm": 4, "max_c": 9}
-> {"answer": "Yes, about 4 mm of rain are expected in Oslo tomorrow."}
Request: Mail Anna that I am late.
Done: mail__send_mail {"to": "Anna", "text": "I am late."}
Result: sent
-> {"answer": "I have told Anna by mail that you are late."}"""
