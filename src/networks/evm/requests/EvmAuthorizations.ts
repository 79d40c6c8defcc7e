// Checks the authorizations of a request before it is accepted: finds their signers, and asks the chain and the service about those accounts.
import { Effect, Option } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { RelayerTargets } from "../../../server/relayers/RelayerTargets.ts"
import { present } from "../../core/Presentation.ts"
import * as EvmBytes from "../chain/EvmBytes.ts"
import { codeOf, countAt } from "../chain/EvmCalls.ts"
import { entryField, factViolations, withFacts } from "../rules/AuthorizationRules.ts"
import type { EntryFacts } from "../rules/AuthorizationRules.ts"
import type { Authorization, SignedAuthorization } from "../rules/Authorizations.ts"
import type { EvmTarget } from "../rules/Evm.ts"
import { authorizationPatience } from "../rules/EvmNumbers.ts"
import type { makeRelayerNodes } from "./EvmSenders.ts"

type List = ReadonlyArray<SignedAuthorization>

const atOnce = { concurrency: "unbounded" } as const

/** Empty violations: each entry has a signer. Others are left out of the list. */
const signersOf = Effect.fnUntraced(function* (list: ReadonlyArray<Authorization>) {
  const authorities = yield* Effect.forEach(list, EvmBytes.authorityOf)
  const violations = authorities.flatMap((authority, index): ReadonlyArray<Violation> =>
    authority === undefined ? [{ field: entryField(index), message: "has a signature that no account can make" }] : []
  )
  const signed = list.flatMap((entry, index): List => {
    const authority = authorities[index]
    return authority === undefined ? [] : [{ ...entry, authority }]
  })
  return { violations, signed }
})

/** The list with the signer of each entry. A `prefix` stands before the fields in errors. */
export const withSigners = Effect.fnUntraced(function* (list: ReadonlyArray<Authorization>, prefix = "") {
  const { signed, violations } = yield* signersOf(list)
  if (violations.length > 0) {
    return yield* BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))
  }
  return signed
})

const readEntry = Effect.fnUntraced(function* (node: RpcNode, { address, authority }: SignedAuthorization) {
  return yield* Effect.all(
    {
      count: node.call(countAt(authority, "latest")),
      code: node.call(codeOf(authority)),
      delegateCode: node.call(codeOf(address))
    },
    atOnce
  )
})
type EntryAnswer = Effect.Success<ReturnType<typeof readEntry>>

/** Providers that have to say that a nonce is used, if there are as many. */
const provenBy = 2

const factsOf = (
  { nonce }: SignedAuthorization,
  answers: ReadonlyArray<EntryAnswer>,
  configured: number,
  isRelayer: boolean
): EntryFacts => {
  const isUsed = answers.filter(({ count }) => count > nonce).length >= Math.max(Math.min(provenBy, configured), 1)
  const [first] = answers
  return { isRelayer, isUsed, ...present("code", first?.code), ...present("delegateCode", first?.delegateCode) }
}

export const makeAuthorizations = Effect.fnUntraced(function* (nodes: Effect.Success<typeof makeRelayerNodes>) {
  const targets = yield* RelayerTargets
  const outboundWork = yield* OutboundWork

  /**
   * By provider, what each says of each entry, and how many there are. Nobody if they do not answer in time: the check before the signature
   * decides then.
   */
  const askChain = Effect.fnUntraced(function* ({ relayer, network }: EvmTarget, list: List) {
    const asked = Effect.all({
      configured: nodes.configured(relayer.id, network.chain_id),
      answers: nodes.each(relayer.id, network.chain_id, (node) =>
        Effect.forEach(list, (entry) => readEntry(node, entry), atOnce)
      )
    })
    const nobody = { configured: 0, answers: [] }
    return yield* outboundWork.run(Effect.timeoutOption(asked, authorizationPatience)).pipe(
      Effect.map(Option.getOrElse(() => nobody)),
      Effect.orElseSucceed(() => nobody)
    )
  })

  /** What keeps the list from being accepted, and the list with what is worth a warning. */
  return Effect.fnUntraced(function* (list: List, target: EvmTarget) {
    const relayers = yield* targets.accountsAmong(
      "evm",
      list.map(({ authority }) => authority)
    )
    const { answers, configured } = yield* askChain(target, list)
    const facts = list.map((entry, index) => {
      const ofEntry = answers.flatMap((one) => one[index] ?? [])
      return factsOf(entry, ofEntry, configured, relayers.has(entry.authority))
    })
    return { violations: factViolations(list, facts), list: withFacts(list, facts) }
  })
})
