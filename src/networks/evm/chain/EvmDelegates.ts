// Asks a node about a contract that an account is to delegate to, as if it had delegated: calls with overrides of its state. A contract that
// the account has delegated to already is asked for what it runs.
import { Clock, Effect, Option, Predicate, Schema } from "effect"
import { answersIn } from "../../../server/chains/Providers.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcAnswer } from "../../../server/chains/RpcBatch.ts"
import { answeredFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode, TypedCall } from "../../../server/chains/RpcNode.ts"
import type { Lane, Watched } from "../../core/Transaction.ts"
import { codeOf as delegationTo, noDelegate } from "../rules/Authorizations.ts"
import { encodeExecute, encodeSupportsMode } from "../rules/Batch.ts"
import {
  addressIn,
  codeFault,
  initializers,
  initializersIn,
  initializing,
  isProxy,
  isSameState,
  proxyFault,
  proxySlots
} from "../rules/Delegates.ts"
import type { DelegateState, DelegationRecord } from "../rules/Delegates.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { codeOf, countAt, failsIn } from "./EvmCalls.ts"

/** A word of the storage of an account. */
const storageAt = (address: string, slot: string): TypedCall<string> => ({
  method: "eth_getStorageAt",
  params: [address, slot, "latest"],
  result: Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{0,64}$/u))
})

/** viem takes 15 MB, and is loaded with the first delegate. */
const hashOf = (code: `0x${string}`) =>
  Effect.map(
    Effect.promise(() => import("viem/utils")),
    ({ keccak256 }) => keccak256(code).toLowerCase()
  )

const hexOf = (text: string): `0x${string}` => `0x${text.slice(2)}`

/** What runs if an account is called that has delegated to this address, and the code itself. */
export const readDelegate = Effect.fnUntraced(function* (node: RpcNode, delegate: string) {
  const [code, implementation, beacon] = yield* Effect.all(
    [
      node.call(codeOf(delegate)),
      node.call(storageAt(delegate, proxySlots.implementation)),
      node.call(storageAt(delegate, proxySlots.beacon))
    ],
    { concurrency: "unbounded" }
  )
  const named = { implementation: addressIn(implementation), beacon: addressIn(beacon) }
  const state: DelegateState = {
    codeHash: yield* hashOf(hexOf(code.toLowerCase())),
    ...(named.implementation === undefined ? {} : { implementation: named.implementation }),
    ...(named.beacon === undefined ? {} : { beacon: named.beacon })
  }
  return { code: code.toLowerCase(), state }
})

/** An account that nobody has the key of: it stands for everybody but the relayer. */
const stranger = "0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"

/** Wei that the stranger has in the calls: enough for the gas of any of them. */
const strangersBalance = `0x${(10n ** 21n).toString(16)}`

/** Code that answers the number 1, whatever is called. */
const answersOne = "0x600160005260206000f3"

const one = `0x${"1".padStart(64, "0")}`

interface CodeCall {
  readonly from: string
  readonly data: string
  /** Wei. Absent: none. */
  readonly value?: bigint
}

type Outcome = { readonly _tag: "Returned"; readonly value: string } | { readonly _tag: "Failed" }

/** Fails if the answer says nothing about the call. */
const outcomeOf = (answer: RpcAnswer): Effect.Effect<Outcome, RpcFailure> => {
  if (answer._tag === "Result") {
    return Predicate.isString(answer.value)
      ? Effect.succeed({ _tag: "Returned", value: answer.value.toLowerCase() })
      : Effect.fail(answeredFailure("invalid_answer").of("eth_call"))
  }
  return failsIn(answer)
    ? Effect.succeed({ _tag: "Failed" })
    : Effect.fail(answeredFailure("refused", `JSON-RPC error ${answer.code}`).of("eth_call"))
}

/** Calls of the account as if it had this code. */
const withCode = (node: RpcNode, account: string, code: string) =>
  Effect.fnUntraced(function* ({ from, data, value = 0n }: CodeCall) {
    const call = { from, to: account, data, value: `0x${value.toString(16)}` }
    const overrides = { [account]: { code }, [stranger]: { balance: strangersBalance } }
    const answer = yield* node.ask({ method: "eth_call", params: [call, "latest", overrides] })
    return yield* outcomeOf(answer)
  })

/** Fails if the provider does not take overrides: it refuses them, or ignores them. */
const proveOverrides = Effect.fnUntraced(function* (node: RpcNode, account: string) {
  const answer = yield* withCode(node, account, answersOne)({ from: stranger, data: "0x" })
  if (answer._tag === "Returned" && answer.value === one) return
  return yield* answeredFailure("refused", "takes no state overrides").of("eth_call")
})

/** A signature of the account's own key, and the digest that was signed. */
interface OwnSignature {
  readonly digest: Uint8Array
  /** r, s and v of 65 bytes. */
  readonly signature: Uint8Array
}

/** The first four bytes of the hash of `isValidSignature(bytes32,bytes)`, which is also the answer for a valid one (ERC-1271). */
const validSignature = "0x1626ba7e"

const hexOfBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** `isValidSignature` with a signature of 65 bytes: three words with their padding. */
const validating = ({ digest, signature }: OwnSignature): string =>
  validSignature +
  hexOfBytes(digest) +
  "40".padStart(64, "0") +
  "41".padStart(64, "0") +
  hexOfBytes(signature).padEnd(3 * 64, "0")

/** What was found out about a delegate. */
export interface DelegateReport {
  readonly state: DelegateState
  /** Why the account must not delegate to it. Empty: it can. */
  readonly faults: ReadonlyArray<string>
  /** Whether contracts accept signatures of the account's own key afterwards. */
  readonly takesSignatures: boolean
}

export interface DelegateQuestion {
  /** Both in lower case. */
  readonly account: string
  readonly delegate: string
  readonly acceptsProxy: boolean
  readonly signed: OwnSignature
}

/** The faults that calls show. Each call is made as if the account had delegated. */
const callFaults = Effect.fnUntraced(function* (node: RpcNode, { account, delegate }: DelegateQuestion, code: string) {
  const ask = withCode(node, account, delegationTo({ address: delegate }))
  const nothing = encodeExecute([])
  const found = initializersIn(code)
  const [supports, own, strange, transfer, ...initialized] = yield* Effect.all(
    [
      ask({ from: stranger, data: encodeSupportsMode }),
      ask({ from: account, data: nothing }),
      ask({ from: stranger, data: nothing }),
      ask({ from: stranger, data: "0x", value: 1n }),
      ...found.map((selector) => ask({ from: stranger, data: initializing(selector) }))
    ],
    { concurrency: "unbounded" }
  )
  const faults: Array<string> = []
  if (supports._tag === "Failed" || supports.value !== one) {
    faults.push("does not make many calls at once: supportsExecutionMode (ERC-7821) is not true for one batch")
  }
  if (own._tag === "Failed") faults.push("does not let the account execute calls: execute without calls fails")
  if (strange._tag === "Returned") faults.push("lets anybody execute calls of the account")
  if (transfer._tag === "Failed") {
    faults.push("takes no transfers: top-ups and refunds to the account would fail, and the account's own no-ops too")
  }
  initialized.forEach(({ _tag }, index) => {
    const name = initializers.get(found[index] ?? "") ?? "initialize"
    if (_tag === "Returned") faults.push(`has to be initialized, and anybody can call ${name} first`)
  })
  return faults
})

/** Fails if the node does not answer, or does not take overrides. */
export const inspectDelegate = Effect.fnUntraced(function* (node: RpcNode, question: DelegateQuestion) {
  const { account, delegate, acceptsProxy, signed } = question
  yield* proveOverrides(node, account)
  const { code, state } = yield* readDelegate(node, delegate)
  const fault = codeFault(delegate, code, account)
  if (fault !== undefined) return { state, faults: [fault], takesSignatures: false } satisfies DelegateReport
  const proxy = !acceptsProxy && isProxy(code, state) ? [proxyFault] : []
  const ask = withCode(node, account, delegationTo({ address: delegate }))
  const [faults, signature] = yield* Effect.all(
    [callFaults(node, question, code), ask({ from: stranger, data: validating(signed) })],
    { concurrency: 2 }
  )
  const report: DelegateReport = {
    state,
    faults: [...proxy, ...faults],
    takesSignatures: signature._tag === "Returned" && signature.value.startsWith(validSignature)
  }
  return report
})

/**
 * What as many providers find as must agree about what ends a transaction: two, if more than one is configured. One that lies could make the
 * account run code that anybody controls. A fault that one of them shows is enough.
 */
export const agreedReport = Effect.fnUntraced(function* (
  providers: Pick<Providers, "second">,
  node: RpcNode,
  question: DelegateQuestion
) {
  const report = yield* inspectDelegate(node, question)
  if (report.faults.length > 0) return report
  const second = yield* providers.second(node, (other) => inspectDelegate(other, question))
  if (second === "not_configured") return report
  if (second === undefined) {
    return yield* answeredFailure("refused", "no second provider takes state overrides").of("eth_call")
  }
  if (second.faults.length > 0) return second
  if (!isSameState(report.state, second.state)) {
    return yield* answeredFailure("invalid_answer", "another provider has other code at the address").of("eth_getCode")
  }
  return { ...report, takesSignatures: report.takesSignatures && second.takesSignatures } satisfies DelegateReport
})

// The hourly look at a delegation: code of the account, of the contract, and what a proxy names.

const readCounters = Schema.decodeUnknownOption(evmRules.counters)

/** Undefined: the account delegates to nothing, or no block has the delegation yet. */
const recordIn = ({ generation, accounts: [own] }: Lane): DelegationRecord | undefined => {
  const record = Option.getOrUndefined(readCounters(own.counters ?? {}))?.delegation
  if (record === undefined || record.generation !== generation || record.delegate === noDelegate) return undefined
  return own.chainSequence > BigInt(record.nonce + 1) ? record : undefined
}

/** What differs from what was recorded. Undefined: nothing. */
const differenceOf = (record: DelegationRecord, own: string, { state }: { readonly state: DelegateState }) => {
  if (own !== delegationTo({ address: record.delegate }))
    return "the account has other code than that of the delegation"
  if (state.codeHash !== record.codeHash) return `the code of ${record.delegate}`
  return isSameState(state, record) ? undefined : `what ${record.delegate} names as the code behind it`
}

/** `isSeen`: the chain of the provider has the delegation. One that lags, or whose block was replaced, says nothing about it. */
interface Look {
  readonly isSeen: boolean
  readonly difference?: string | undefined
}

/** What one provider shows. */
const lookAt = Effect.fnUntraced(function* (node: RpcNode, account: string, record: DelegationRecord) {
  const [own, count, delegate] = yield* Effect.all(
    [node.call(codeOf(account)), node.call(countAt(account, "latest")), readDelegate(node, record.delegate)],
    { concurrency: "unbounded" }
  )
  const look: Look =
    count > record.nonce + 1
      ? { isSeen: true, difference: differenceOf(record, own.toLowerCase(), delegate) }
      : { isSeen: false }
  return look
})

/**
 * What two providers agree on, if more than one has the delegation. Fails if none has it. None: they disagree. That nothing differs is believed of
 * one, unless a change was found before (`isChanged`): a provider that is stuck shows for ever what was there before the change.
 */
const agreedLook = Effect.fnUntraced(function* (
  providers: Providers,
  account: string,
  record: DelegationRecord,
  isChanged: boolean
) {
  const ask = (node: RpcNode) => lookAt(node, account, record)
  return yield* providers.first(
    Effect.fnUntraced(function* (node) {
      const first = yield* ask(node)
      if (!first.isSeen) {
        return yield* answeredFailure("refused", "does not have the delegation").of("eth_getTransactionCount")
      }
      const differs = first.difference !== undefined
      if (!differs && !isChanged) return Option.some(first)
      // A change needs any second provider that shows it too. That a former change is gone needs the next provider that has the delegation.
      const asked = yield* providers.others(
        node,
        ask,
        (look) => look.isSeen && (!differs || look.difference !== undefined)
      )
      if (asked.length === 0) return Option.some(first)
      const others = answersIn(asked).filter(({ isSeen }) => isSeen)
      if (differs && others.length === 0) return Option.some(first)
      return Option.fromUndefinedOr(others.find(({ difference }) => (difference !== undefined) === differs))
    })
  )
})

/** Undefined: it is not known what the account runs. */
export const watchDelegation = Effect.fnUntraced(function* (providers: Providers, lane: Lane) {
  const [{ address, watched }] = lane.accounts
  const record = recordIn(lane)
  if (record === undefined) return undefined
  const sequence = BigInt(record.nonce)
  const isChanged = watched?.sequence === sequence && watched.changed !== undefined
  const found = Option.flatten(yield* Effect.option(agreedLook(providers, address, record, isChanged)))
  if (Option.isNone(found)) return undefined
  const at = yield* Clock.currentTimeMillis
  const { difference } = found.value
  const isKnown = watched?.sequence === sequence && watched.changed === difference
  const seen: Watched = {
    sequence,
    at,
    ...(difference === undefined ? {} : { changed: difference, since: isKnown ? (watched.since ?? at) : at })
  }
  return seen
})
