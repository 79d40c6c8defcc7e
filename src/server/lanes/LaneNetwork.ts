// What a lane asks of its network: to read the chain, to sign and to send. The rules of the network decide, and only the lane
// writes. The terms:
//
// - lane: the transactions of one account on one chain, in one order; one process at a time holds it
// - family, rules: the shapes and the pure functions of a network type (`domain/transaction/Rules.ts`)
// - poll: one reading of the chain for all open transactions of the lane
// - seen: what a poll has found out about one transaction
// - question: what a decision needs to know besides what the poll has seen; `inquire` answers it
// - place: an account of the lane and a sequence there, where the bytes of a transaction count; on evm the sequence is the nonce
// - filler: bytes that use up a sequence which no transaction has
// - foreign: a transaction of the account that no attempt of the ledger names
// - broadcast: the bytes that a commit has stored go to nodes
// - step: poll, decide, sign, commit, send; in this order
import { Context, Effect, Layer } from "effect"
import type { Array as Arr } from "effect"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { SignerId } from "../../domain/signer/Signer.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { Sign } from "../../domain/transaction/Command.ts"
import type { Family } from "../../domain/transaction/Family.ts"
import type { Lane, Terms } from "../../domain/transaction/Lane.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Place } from "../../domain/transaction/Place.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import type { OwnDoubt, Unreachable } from "../../domain/transaction/Situation.ts"
import type { Totals } from "../../domain/transaction/Totals.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { LaneLost } from "../ledger/hold/HeldLane.ts"
import type { GivenPlace } from "../ledger/GivenSignature.ts"
import type { StoredLane } from "../ledger/StoredLane.ts"
import type { KeyOptions, LaneKeys, SigningFailed } from "./LaneKeys.ts"

/** A relayer whose transactions are in the lane, as it is now. */
export interface LaneRelayer<F extends Family = Family> {
  readonly id: RelayerId
  readonly signerId: SignerId
  readonly target: F["target"]
  readonly urls: ReadonlyArray<RpcConfig>
  /** The same text means the same providers. */
  readonly urlsKey: string
  /** Whether `urls` are the relayer's own, and not those of its network. */
  readonly hasOwnUrls: boolean
  readonly isPaused: boolean
  readonly disabled: Terms["disabled"]
}

/** An open transaction with its relayer. */
export interface LaneRow<F extends Family = Family> {
  readonly transaction: Transaction<F>
  readonly relayer: LaneRelayer<F>
}

/** The first relayer of each set of providers: what a poll sees for it holds for the others with this set. */
export const firstOfEachSet = <R extends Pick<LaneRelayer, "urlsKey">>(relayers: Iterable<R>): ReadonlyArray<R> => {
  const found = new Map<string, R>()
  for (const relayer of relayers) if (!found.has(relayer.urlsKey)) found.set(relayer.urlsKey, relayer)
  return [...found.values()]
}

/** A signature that uses up a sequence which no transaction has. */
export interface Filler<F extends Family = Family> {
  readonly place: Place
  readonly request: F["request"]
  readonly sign: Sign<F>
}

/** What a poll has found out about the lane as a whole. */
export interface LaneReading<F extends Family = Family> {
  /**
   * With the counters that the poll believes. Accounts that are new in it belong to the lane from now on, unless another lane
   * has them.
   */
  readonly lane: Lane<F>
  /** Transactions that may be in flight at most now, if the account allows fewer than the network. Absent: it does not. */
  readonly windowLimit?: number
  /** Accounts that no longer belong to the lane, and are not in `lane`. They stay while an open transaction has a place there. */
  readonly released?: ReadonlyArray<string>
  /** Why the lane gives away no places. */
  readonly stop?: Cause
  /** Identity of the chain, once it is known. */
  readonly genesis?: string
  /** Whether this poll has used the operator's answer that the count of the chain is right. */
  readonly usedTrust: boolean
  /** Final transactions of the first account from this sequence on are open again: a reorganisation was deeper than final. */
  readonly openFrom?: bigint
  readonly fillers: ReadonlyArray<Filler<F>>
  /** Transactions that no attempt names. The lane marks the requests that they could be, before it decides anything else. */
  readonly foreign: ReadonlyArray<F["foreign"]>
}

export interface Poll<F extends Family = Family> {
  /** Whether the providers of at least one relayer answered. */
  readonly isAnswered: boolean
  /** Whether a provider is on another chain than the lane. */
  readonly isOtherChain: boolean
  /** What the poll has seen of the row, also if the row has changed since. */
  seenOf(row: LaneRow<F>, now: Moment): F["seen"] | Unreachable
  /** Why the relayer's providers allow no transaction a place, or only some. Absent, or undefined: they allow all. */
  doubtOf?(relayer: LaneRelayer<F>): OwnDoubt | undefined
  /** The newest height that the relayer's providers have. */
  heightOf(relayer: LaneRelayer<F>): number
  /** Absent: no provider answered about the lane. */
  readonly reading?: LaneReading<F>
}

export interface PollOptions<F extends Family = Family> {
  readonly lane: Lane<F>
  readonly stored: Pick<StoredLane, "genesis" | "trustsCount" | "code" | "databaseStartedAt">
  /** Open transactions, in the order in which they were accepted. */
  readonly rows: Arr.NonEmptyReadonlyArray<LaneRow<F>>
  readonly totals: Totals<F>
  /** Whether the signer can sign now. If not, no filler can be made. */
  readonly canSign: boolean
  readonly now: Moment
  /** Sequences of the first account from this one on that the ledger has given away. */
  committed(from: bigint): Effect.Effect<ReadonlyArray<bigint>, LaneLost>
  /** Sequences of the first account from this one on that a final transaction has used. */
  mined(from: bigint): Effect.Effect<ReadonlyArray<bigint>, LaneLost>
  /** Those of the hashes that belong to attempts of the lane's transactions. */
  own(hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>>
  /** Those of the hashes that belong to signatures that callers got: they are not foreign. */
  given(hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>>
  /** Signatures that callers got, at sequences of the first account that are not used yet. */
  readonly givenPlaces: Effect.Effect<ReadonlyArray<GivenPlace>>
}

/** A row with a question about it. */
export interface Inquiry<F extends Family = Family> {
  readonly row: LaneRow<F>
  readonly seen: F["seen"]
  readonly question: F["question"]
}

export interface Finding<F extends Family = Family> {
  /** With the answer. */
  readonly seen: F["seen"]
  /** Foreign transactions that the answers have shown. */
  readonly foreign?: ReadonlyArray<F["foreign"]>
}

/** What is to be signed. Without a request, nothing is to happen at the place. */
export interface Unsigned<F extends Family = Family> {
  readonly lane: Lane<F>
  readonly relayer: LaneRelayer<F>
  readonly request: F["request"] | undefined
  readonly place: Place
  readonly sign: Pick<Sign<F>, "kind" | "offer">
}

export interface SignedBytes<F extends Family = Family> {
  readonly hash: string
  readonly raw: Uint8Array
  /** The offer with values that are known only after the signature. Absent: the offer of the decision. */
  readonly offer?: F["offer"]
}

/** A held lane on its chain. It writes nothing, and forgets everything with the lane. */
export interface LaneChain<F extends Family = Family> {
  poll(options: PollOptions<F>): Effect.Effect<Poll<F>, LaneLost>
  /** Answers questions, in their order. */
  inquire(lane: Lane<F>, inquiries: Arr.NonEmptyReadonlyArray<Inquiry<F>>): Effect.Effect<ReadonlyArray<Finding<F>>>
  sign(unsigned: Unsigned<F>): Effect.Effect<SignedBytes<F>, SigningFailed>
  /** `sends`: how often these bytes were sent before. */
  broadcast(relayer: LaneRelayer<F>, raw: Uint8Array, sends: number): Effect.Effect<ReadonlyArray<F["answer"]>>
  /** Transactions on their way to a node at once. 1: each one after the chain has accepted the former. */
  broadcastsAtOnce(relayers: ReadonlyArray<LaneRelayer<F>>): number
  /** Updates metrics of the network after a transaction became final. `apiKeyId`: the key that sent it. */
  noteFinal(transaction: Transaction<F>, apiKeyId?: string): Effect.Effect<void>
}

export interface LaneOptions {
  /** Such as `evm:8453`. */
  readonly chain: string
  /** The first account of the lane. */
  readonly address: string
  /** Identity of the chain, by which a restart of a test chain is noticed. Undefined: no poll has shown it yet. */
  readonly genesis: string | undefined
  /** Opens keys of signers. */
  keys(options: KeyOptions): LaneKeys
}

export interface SendingNetwork<F extends Family = Family> {
  readonly rules: Rules<F>
  open(lane: LaneOptions): LaneChain<F>
  /** Loads what the first signature of a process would wait for. */
  readonly warmUp: Effect.Effect<void>
  /** Begins the service's own transactions, such as work on channels. Each process runs it repeatedly. Absent: there are none. */
  readonly upkeep?: Effect.Effect<void>
}

/** The networks that this process sends for. A host program may replace one. */
export class SendingNetworks extends Context.Service<
  SendingNetworks,
  {
    /** Their network types. Lanes of other types are left to other processes. */
    readonly types: ReadonlyArray<string>
    /** By the chain of a lane, such as `evm:8453`. Undefined: this process does not send there. */
    of(chain: string): SendingNetwork | undefined
    /** Loads what the first signatures of the process would wait for. */
    readonly warmUp: Effect.Effect<void>
    /** Begins the own transactions of all networks. */
    readonly upkeep: Effect.Effect<void>
  }
>()("effect-relayer/server/lanes/LaneNetwork/SendingNetworks") {
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<SendingNetwork>, E, R>) =>
    Layer.effect(
      SendingNetworks,
      Effect.map(networks, (all) => {
        const byType = new Map(all.map((network) => [network.rules.type, network]))
        return SendingNetworks.of({
          warmUp: Effect.forEach(all, ({ warmUp }) => warmUp, { discard: true }),
          upkeep: Effect.forEach(all, ({ upkeep = Effect.void }) => upkeep, { discard: true }),
          types: [...byType.keys()],
          of: (chain) => byType.get(chain.split(":", 1)[0] ?? chain)
        })
      })
    )
}
