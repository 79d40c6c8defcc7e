// The methods that a node with the relayer's key has. They do not depend on `rpc_methods` of the network.
import { Effect } from "effect"
import type { Scope as Lifetime } from "effect"
import type { Scope } from "../../../../domain/access/ApiKey.ts"
import { rpcCodes, RpcError } from "../../../../domain/transaction/NodeCall.ts"
import type { EvmSender } from "../EvmSenders.ts"
import type { Params } from "./Params.ts"
import * as Sending from "./Sending.ts"
import * as Signing from "./Signing.ts"

/** The calls of a batch begin one after the other, and end together. */
type Begin = (
  sender: EvmSender,
  params: Params
) => Effect.Effect<Effect.Effect<unknown, RpcError>, RpcError, Lifetime.Scope>

export interface AccountMethod {
  /** Needed in addition to `rpc:call`. Absent: no other scope is needed. */
  readonly scope?: Scope
  readonly begin: Begin
}

const known = (read: (sender: EvmSender) => unknown): AccountMethod => ({
  begin: (sender) => Effect.succeed(Effect.succeed(read(sender)))
})

const signature = (sign: (sender: EvmSender, params: Params) => Effect.Effect<string, RpcError>): AccountMethod => ({
  scope: "transactions:sign",
  begin: (sender, params) => Effect.map(sign(sender, params), Effect.succeed)
})

/** A signed transaction outside of the ledger would take a nonce that the ledger assigns as well. */
const unsupported: AccountMethod = {
  begin: () =>
    Effect.fail(
      new RpcError({
        code: rpcCodes.unsupportedMethod,
        message: "the service returns no signed transactions; use eth_sendTransaction"
      })
    )
}

const accounts = known(({ relayer }) => [relayer.address])

export const make = Effect.gen(function* () {
  const sending = yield* Sending.make
  const signing = yield* Signing.make
  return new Map<string, AccountMethod>([
    ["eth_accounts", accounts],
    ["eth_requestAccounts", accounts],
    ["eth_chainId", known(({ numbers }) => `0x${numbers.chainId.toString(16)}`)],
    ["net_version", known(({ numbers }) => String(numbers.chainId))],
    ["eth_sendTransaction", { scope: "transactions:write", begin: sending.begin }],
    ["personal_sign", signature(signing.personal)],
    ["eth_sign", signature(signing.sign)],
    ["eth_signTypedData_v4", signature(signing.typedData)],
    // The name in EIP-712, which web3.py uses. The parameters are those of version 4.
    ["eth_signTypedData", signature(signing.typedData)],
    ["eth_signTransaction", unsupported]
  ])
})
