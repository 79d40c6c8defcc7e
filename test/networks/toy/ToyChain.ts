// The toy network as a program composes it: its chain in memory, and what a lane does with it.
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import type { Lane, LaneAccount, Transaction } from "../../../src/networks/core/Transaction.ts"
import type { ChainKind } from "../../../src/server/chains/Chains.ts"
import type { LaneChain, SendingNetwork } from "../../../src/server/lanes/LaneNetwork.ts"
import type { ServedNetwork } from "../../../src/server/ServedNetworks.ts"
import { toyIntake, toyRules } from "./Toy.ts"
import type { Toy } from "./Toy.ts"

/** The sequence of a new account: a number would lose its last digits. */
export const firstSequence = 2n ** 53n + 1n

const Bytes = Schema.fromJsonString(
  Schema.Struct({
    account: Schema.String,
    sequence: Schema.BigIntFromString,
    to: Schema.String,
    amount: Schema.BigIntFromString,
    expires: Schema.Int
  })
)

const decode = Schema.decodeUnknownSync(Bytes)
const encode = Schema.encodeSync(Bytes)

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")

export const make = () => {
  const sequences = new Map<string, bigint>()
  const pool = new Map<string, typeof Bytes.Type>()
  const chain = {
    height: 10,
    /** By hash. */
    included: new Map<string, number>(),
    /** What was paid, by receiver. */
    paid: new Map<string, bigint>(),
    /** True: nodes take the bytes, and lose them. */
    isForgetful: false,
    nextOf: (account: string): bigint => sequences.get(account) ?? firstSequence,
    /** Another program uses the next sequence of the account. */
    use: (account: string): void => {
      sequences.set(account, chain.nextOf(account) + 1n)
    },
    take: (text: string): Toy["answer"] => {
      const bytes = decode(text)
      if (bytes.expires < chain.height || bytes.sequence < chain.nextOf(bytes.account)) return "refused"
      if (!chain.isForgetful) pool.set(hashOf(text), bytes)
      return "accepted"
    },
    /** A height with everything that has its turn. */
    grow: (): void => {
      chain.height += 1
      const inOrder = [...pool].toSorted(([, one], [, other]) => Number(one.sequence - other.sequence))
      for (const [hash, { account, sequence, to, amount, expires }] of inOrder) {
        if (expires < chain.height || sequence !== chain.nextOf(account)) continue
        chain.use(account)
        chain.included.set(hash, chain.height)
        chain.paid.set(to, (chain.paid.get(to) ?? 0n) + amount)
        pool.delete(hash)
      }
    }
  }
  return chain
}
type ToyChain = ReturnType<typeof make>

/** The second account of a lane. */
export const channelOf = (address: string): string => `${address.slice(0, -2)}-2`

const seenOf = (chain: ToyChain, { attempts, place }: Transaction<Toy>): Toy["seen"] => {
  const height = chain.included.get(attempts.at(-1)?.hash ?? "")
  return {
    height: chain.height,
    ...(place === undefined ? {} : { next: chain.nextOf(place.account) }),
    ...(height === undefined ? {} : { receipt: { height, isSuccess: true, paid: 1n, details: {} } })
  }
}

const laneChain = (chain: ToyChain): LaneChain<Toy> => {
  const accountOf = (address: string, former?: LaneAccount<Toy>): LaneAccount<Toy> => {
    const next = chain.nextOf(address)
    const { nextSequence = next } = former ?? {}
    return {
      address,
      nextSequence: nextSequence > next ? nextSequence : next,
      chainSequence: next,
      settledSequence: next
    }
  }
  const both = ([own, channel]: Lane<Toy>["accounts"]): Lane<Toy>["accounts"] => [
    accountOf(own.address, own),
    accountOf(channelOf(own.address), channel)
  ]
  return {
    poll: ({ lane: { accounts, ...lane } }) =>
      Effect.succeed({
        isAnswered: true,
        isOtherChain: false,
        seenOf: ({ transaction }) => seenOf(chain, transaction),
        heightOf: () => chain.height,
        reading: { lane: { ...lane, accounts: both(accounts) }, usedTrust: false, fillers: [], foreign: [] }
      }),
    inquire: () => Effect.succeed([]),
    sign: ({ request, place: { account, sequence = 0n }, sign: { offer } }) =>
      Effect.sync(() => {
        const { to, amount } = request ?? { to: "nobody", amount: 0n }
        const text = encode({ account, sequence, to, amount, ...offer })
        return { hash: hashOf(text), raw: Buffer.from(text) }
      }),
    broadcast: (_, raw) => Effect.sync(() => [chain.take(Buffer.from(raw).toString())]),
    broadcastsAtOnce: () => 8,
    noteFinal: () => Effect.void
  }
}

/** It has no providers. */
const inspection: ChainKind = {
  inspect: () => Effect.succeed({ network_type: "stellar", failures: [], providers: [] }),
  probe: () => Effect.succeed([])
}

export const network = (chain: ToyChain): ServedNetwork => {
  const sending: SendingNetwork<Toy> = { rules: toyRules, open: () => laneChain(chain), warmUp: Effect.void }
  return {
    rules: toyRules,
    metrics: [],
    open: Effect.succeed({ inspection, sending: Effect.succeed(sending), intake: Effect.succeed(toyIntake) })
  }
}
