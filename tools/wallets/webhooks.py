# What the library of Standard Webhooks says about webhooks with the keys of their receivers. Prints one word for each.
import json
import sys

from standardwebhooks.webhooks import Webhook


def judge(case):
    key = case["key"].encode() if case.get("raw") else case["key"]
    try:
        Webhook(key).verify(case["body"], case["headers"])
        return "valid"
    except Exception:
        return "refused"


print(json.dumps([judge(case) for case in json.loads(sys.argv[1])]))
