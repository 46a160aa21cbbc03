"""Agent that uses the official model clients inside a box, and prints one JSON object with their results."""

import json
import os
import sys

WIRE = sys.argv[1]
if WIRE == "messages":  # each takes a second to load
    import anthropic
else:
    import openai

URL = os.environ["QUARTERTURN_URL"]
TOOL = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
ASKED = [{"role": "user", "content": "Which colour?"}]


def caught(work, *kinds):
    try:
        return work()
    except kinds as error:
        return type(error).__name__


def chat(client):
    tools = [{"type": "function", "function": {"name": "paint", "description": "Paint it.", "parameters": TOOL}}]
    ask = {"model": "small", "messages": ASKED}
    said = client.chat.completions.create(**ask)
    yield "said", said.choices[0].message.content
    yield "id", said.id
    yield "told", sorted(said.model_dump(exclude_unset=True))
    streamed = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    yield "streamed", "".join(c.choices[0].delta.content or "" for c in streamed if c.choices)
    yield "usage", streamed[-1].usage.total_tokens
    with client.chat.completions.stream(**ask, tools=tools) as stream:
        message = stream.get_final_completion().choices[0].message
    call = message.tool_calls[0]
    yield "call", [call.function.name, json.loads(call.function.arguments)]
    answer = {"role": "tool", "tool_call_id": call.id, "content": "painted"}
    history = [*ASKED, message.model_dump(), answer]
    yield "after", client.chat.completions.create(**ask | {"messages": history}).choices[0].message.content
    yield "broken", caught(lambda: list(client.chat.completions.create(**ask, stream=True)) and "no", openai.APIError)
    yield "refused", caught(lambda: client.chat.completions.create(**ask, user="me"), openai.BadRequestError)


def responses(client):
    tools = [{"type": "function", "name": "paint", "description": "Paint it.", "parameters": TOOL, "strict": False}]
    ask = {"model": "small", "input": ASKED}
    said = client.responses.create(**ask)
    yield "said", said.output_text
    yield "id", said.id
    yield "told", sorted(said.model_dump(exclude_unset=True))
    with client.responses.stream(**ask) as stream:
        streamed = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    yield "streamed", streamed
    yield "usage", final.usage.total_tokens
    call = client.responses.create(**ask, tools=tools).output
    yield "call", [call[-1].name, json.loads(call[-1].arguments)]
    answer = {"type": "function_call_output", "call_id": call[-1].call_id, "output": "painted"}
    history = [*ASKED, *(item.to_dict() for item in call), answer]
    yield "after", client.responses.create(**ask | {"input": history}).output_text
    yield "broken", caught(lambda: list(client.responses.create(**ask, stream=True)) and "no", openai.APIError)
    yield (
        "refused",
        caught(lambda: client.responses.create(**ask, previous_response_id="resp_1"), openai.BadRequestError),
    )


def messages(client):
    tools = [{"name": "paint", "description": "Paint it.", "input_schema": TOOL}]
    ask = {"model": "small", "messages": ASKED, "max_tokens": 100}
    said = client.messages.create(**ask)
    yield "said", said.content[0].text
    yield "id", said.id
    yield "told", sorted(said.model_dump(exclude_unset=True))
    with client.messages.stream(**ask) as stream:
        streamed = "".join(stream.text_stream)
        final = stream.get_final_message()
    yield "streamed", streamed
    yield "usage", final.usage.input_tokens + final.usage.output_tokens
    with client.messages.stream(**ask, tools=tools) as stream:
        message = stream.get_final_message()
    call = message.content[-1]
    yield "call", [call.name, call.input]
    answer = {"type": "tool_result", "tool_use_id": call.id, "content": "painted"}
    history = [
        *ASKED,
        {"role": "assistant", "content": [block.to_dict() for block in message.content]},
        {"role": "user", "content": [answer]},
    ]
    yield "after", client.messages.create(**ask | {"messages": history}).content[0].text
    yield "broken", caught(lambda: list(client.messages.create(**ask, stream=True)) and "no", anthropic.APIError)
    yield (
        "refused",
        caught(lambda: client.beta.messages.create(**ask, betas=["files-api-2025-04-14"]), anthropic.BadRequestError),
    )


def main():
    if WIRE == "messages":
        client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
    else:
        client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    found = dict({"chat": chat, "responses": responses, "messages": messages}[WIRE](client))
    sys.stdout.write(json.dumps(found))


main()
