# What cast does through a relayer beside sending: it deploys, and shows errors. Arguments: init code, a receiver that is refused.
set -euo pipefail
export ETH_RPC_URL=$RELAYER_RPC ETH_RPC_HEADERS="authorization: Bearer $API_KEY"
from=$(cast rpc eth_accounts | tr -d '[]"')

contract=$(cast send --json --unlocked --from "$from" --create "$1" | sed 's/.*"contractAddress":"\(0x[0-9a-fA-F]*\)".*/\1/')
revert=$(cast send --unlocked --from "$from" "$contract" "deny()" 2>&1 || true)
refused=$(cast send --unlocked --from "$from" "$2" --value 1 2>&1 || true)
printf '%s\n---\n%s\n---\n%s\n' "$from" "$revert" "$refused"
