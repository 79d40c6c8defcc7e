// What only delegations of the lane's own account ask: the gas of one, and the code that the account had at a block.
import { Effect, Redacted, Result } from "effect"
import { randomBytes } from "node:crypto"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import * as LocalKey from "../../../server/signers/backends/LocalKey.ts"
import * as EvmBytes from "../chain/EvmBytes.ts"
import * as EvmCalls from "../chain/EvmCalls.ts"
import { emptyAccount } from "../chain/EvmEstimates.ts"
import { forNodes } from "../rules/Authorizations.ts"
import type { CodeQuery, FoundCode } from "../rules/Delegates.ts"
import type { Estimate } from "../rules/Evm.ts"
import { delegationCallGas } from "../rules/EvmNumbers.ts"

// The gas of a delegation. The authorization of the account itself is shown to no node before it is committed: anybody who sees it could
// delegate the account. A key that is made for the question signs one of another account, which costs at least as much. The call is one of an
// account without code: the account itself still runs what it delegated to before, which may take no calls any more.

interface DelegationCall {
  readonly account: string
  readonly delegate: string
  readonly chainId: number
}

/** An authorization of an account that nothing was ever sent to. */
const throwaway = ({ delegate, chainId }: Pick<DelegationCall, "delegate" | "chainId">) => {
  const key = LocalKey.make(Redacted.make(`0x${randomBytes(32).toString("hex")}`))
  return EvmBytes.authorize({ chainId, address: delegate, nonce: 0 }, (digest) => key.sign("secp256k1", digest))
}

/** Fails if the provider only says that it has too much to do. */
export const estimateDelegation = Effect.fnUntraced(function* (node: RpcNode, call: DelegationCall) {
  const { account } = call
  const entry = yield* Effect.orDie(throwaway(call))
  const params = [{ from: account, to: emptyAccount, value: "0x0", authorizationList: [forNodes(entry)] }]
  const found = EvmCalls.readEstimate(yield* node.ask({ method: "eth_estimateGas", params }))
  if (found._tag === "Gas") return { ...found, gas: found.gas + delegationCallGas } satisfies Estimate
  return found._tag === "Reverts"
    ? ({ _tag: "Refused", words: found.reason ?? "it reverts" } satisfies Estimate)
    : found
})

interface HeightQuery extends CodeQuery {
  readonly height: number
  /** The height of the newest block. */
  readonly head: number
}

/**
 * Nodes drop old states. The one of the newest block shows the same code if the count is not higher there: nothing has changed the code since.
 * A lower count is of a state before the block, which a provider that lags or lies shows.
 * Both are read at one height, so that two back ends of a provider cannot differ.
 */
const readCode = Effect.fnUntraced(function* (
  node: RpcNode,
  address: string,
  { count, head, height, nonce }: Omit<HeightQuery, "expected">
) {
  const then = yield* Effect.result(node.call(EvmCalls.codeAt(address, height)))
  if (Result.isSuccess(then) || !then.failure.answered || head <= height) return yield* Effect.fromResult(then)
  const [code, now] = yield* Effect.all(
    [node.call(EvmCalls.codeAt(address, head)), node.call(EvmCalls.countAt(address, head))],
    { concurrency: 2 }
  )
  return now > nonce && now <= count ? code : yield* Effect.fromResult(then)
})

/**
 * The code of an account at a height. One provider is enough for the expected one, whichever it is. That it is another one is believed only if a
 * second provider has the same: a caller would send calls again that were made. A single configured provider is believed.
 */
export const codeAt = Effect.fnUntraced(function* (providers: Providers, address: string, query: HeightQuery) {
  const { expected } = query
  const read = (node: RpcNode) => readCode(node, address, query)
  const agreed = providers.first(
    Effect.fnUntraced(function* (node): Effect.fn.Return<FoundCode, RpcFailure> {
      const code = yield* read(node)
      if (code === expected) return { code }
      const second = yield* providers.second(node, read, (other) => other === code || other === expected)
      if (second === "not_configured" || second === code) return { code }
      if (second === expected) return { code: expected }
      return { doubt: second === undefined ? "second_provider_missing" : "providers_disagree" }
    })
  )
  return yield* Effect.orElseSucceed(agreed, (): FoundCode => ({}))
})
