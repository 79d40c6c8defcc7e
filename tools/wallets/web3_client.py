# What web3.py does through a relayer beside sending: it deploys, signs, and decodes a custom error. Prints the results as JSON.
import json
import os
import sys

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from web3 import HTTPProvider, Web3
from web3.exceptions import ContractCustomError, Web3RPCError

bytecode, refused_receiver = sys.argv[1:]
headers = {"authorization": f"Bearer {os.environ['API_KEY']}", "content-type": "application/json"}
w3 = Web3(HTTPProvider(os.environ["RELAYER_RPC"], request_kwargs={"headers": headers, "timeout": 30}))
account = w3.eth.accounts[0]

abi = [
    {"type": "error", "name": "Denied", "inputs": [{"name": "code", "type": "uint256"}]},
    {"type": "function", "name": "deny", "inputs": [], "outputs": [], "stateMutability": "nonpayable"},
]
deployment = w3.eth.contract(abi=abi, bytecode=bytecode).constructor().transact({"from": account})
receipt = w3.eth.wait_for_transaction_receipt(deployment)
contract = w3.eth.contract(address=receipt["contractAddress"], abi=abi)

try:
    contract.functions.deny().transact({"from": account})
    revert = "none"
except ContractCustomError as error:
    revert = error.data

try:
    w3.eth.send_transaction({"from": account, "to": w3.to_checksum_address(refused_receiver), "value": 1})
    refused = "none"
except Web3RPCError as error:
    rpc_error = error.rpc_response["error"]
    refused = f"{rpc_error['code']} {rpc_error['message']}"

text = "Sign in to example.com"
typed = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
        "Order": [{"name": "amount", "type": "uint256"}],
    },
    "primaryType": "Order",
    "domain": {"name": "Example", "chainId": 31337},
    "message": {"amount": 5},
}
signers = [
    Account.recover_message(encode_defunct(text=text), signature=w3.eth.sign(account, text=text)),
    Account.recover_message(
        encode_typed_data(full_message=typed), signature=w3.eth.sign_typed_data(account, json.dumps(typed))
    ),
]

print(json.dumps({"address": account, "revert": revert, "refused": refused, "signers": signers}))
