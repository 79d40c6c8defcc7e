// What a request to send, replace or simulate passes before the ledger has it: its network decodes and checks the body. `evm/`
// has the intake of evm.
//
// - body: a request to send, as its network type has it
// - replacement: a request that takes the place of an earlier one
// - intake: decodes and checks both; it stores nothing and does not read the chain
// - sender: the relayer of a request, with its network and its lane
import { Context, Data, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { HttpServerRequest } from "effect/http"
import type { Exchange, Family } from "../../domain/transaction/Family.ts"
import * as Json from "../../api/Json.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { Network } from "../../domain/network/Network.ts"
import type { Relayer, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { BadGateway, NotImplemented, Violation } from "../../domain/request/Request.ts"
import type { Curve } from "../../domain/signer/Signer.ts"
import { present } from "../../domain/transaction/Presentation.ts"
import type { Rules, TransactionConflict } from "../../domain/transaction/Rules.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { NetworkLimits, TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { batchOf } from "../../domain/transaction/TransactionRequests.ts"
import type { Moment } from "../../domain/transaction/TransactionValues.ts"
import type { Account, GivenSignature, IssuedSignature, NamedBody } from "../ledger/LedgerEntries.ts"

/** A body as it arrived. The network of its relayer decides how it is decoded. */
export class JsonBody extends Data.Class<{ readonly text: string }> {}

/** `RequestBody` has read it. */
export const bodyOf = ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
  Effect.map(Effect.orDie(request.text), (text) => new JsonBody({ text }))

/** The relayer of a request. */
export interface Sender<F extends Family = Family> {
  readonly relayer: Relayer
  readonly network: Network
  readonly target: F["target"]
  readonly account: Account
}

interface AdmissionOptions {
  readonly now: Moment
  /** Of the caller's key for this network type. Absent: it has none. */
  readonly limits: NetworkLimits | undefined
  /** Path of the request in the body, such as `transactions.0.`. Errors name a field with it. */
  readonly prefix: string
}

/** What the ledger stores of a body. */
export interface Admitted<F extends Family = Family> {
  readonly request: F["request"]
  readonly facts: F["facts"]
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly priority: number
  readonly requiredSequence?: bigint
  readonly externalId?: string
  /**
   * What its fees can cost, in the smallest unit, as far as the body says so. The rest is counted when it is signed. It counts
   * for the `max_fee_per_day` of API keys.
   */
  readonly fee: bigint
}

/** Identifies a body, so that its repeats are recognized. */
type Names = Pick<NamedBody, "externalId" | "identity">

interface AdmittedReplacement<F extends Family = Family> {
  readonly request: F["request"]
  /** Absent: the deadline stays. */
  readonly validUntil?: Moment
}

type Refused = BadRequest | TransactionLimitExceeded | TransactionConflict | NotImplemented

type Unasked = RelayerNotFound | BadRequest | BadGateway | TooManyRequests

/** What the key signs, and what becomes of its signature. */
interface Unsigned extends Pick<GivenSignature, "fee" | "end" | "offer" | "outflow" | "sequence"> {
  readonly curve: Curve
  readonly message: Uint8Array
  /** Undefined: the signature does not belong to the relayer's address. */
  seal(signature: Uint8Array): Effect.Effect<Pick<GivenSignature, "hash" | "raw"> | undefined>
}

/** A request to sign that the rules of its bytes allow. */
export interface Signable {
  /** As `GivenSignature` has it: the same bytes are signed once. */
  readonly identity: string
  /** Checks what needs the chain. */
  readonly unsigned: Effect.Effect<Unsigned, Unasked>
}

/** How a network type signs bytes that a caller sends. */
export interface Signing<F extends Family, X extends Exchange> {
  readonly body: Schema.Codec<X["request"], unknown>
  admit(body: X["request"], sender: Sender<F>, options: AdmissionOptions): Effect.Effect<Signable, Refused>
  show(issued: IssuedSignature): X["response"]
}

/** An answer that stores and signs nothing. */
export interface Answering<F extends Family, X extends Exchange> {
  readonly body: Schema.Codec<X["request"], unknown>
  answer(body: X["request"], sender: Sender<F>): Effect.Effect<X["response"], Unasked>
}

/** What a network type makes of bodies. */
export interface Intake<F extends Family = Family> {
  readonly rules: Rules<F>
  readonly body: Schema.Codec<F["body"], unknown>
  readonly replacement: Schema.Codec<F["replacement"], unknown>
  /** Neither the time nor policies nor limits change them: a body that is no longer accepted keeps its names. */
  namesOf(body: F["body"], target: F["target"]): Effect.Effect<Names>
  admit(body: F["body"], sender: Sender<F>, options: AdmissionOptions): Effect.Effect<Admitted<F>, Refused>
  admitReplacement(
    replacement: F["replacement"],
    sender: Sender<F>,
    options: AdmissionOptions
  ): Effect.Effect<AdmittedReplacement<F>, Refused>
  /** Whether the newest version of the transaction is what the replacement asks for. */
  isNewest(replacement: F["replacement"], transaction: Transaction<F>): boolean
  /**
   * What the body would do and cost now. `forbidden`: the API key has limits, but none of this network type. Absent: the
   * network type has no simulation.
   */
  simulate?(
    body: F["body"],
    sender: Sender<F>,
    options: Omit<AdmissionOptions, "prefix"> & { readonly forbidden: Violation | undefined }
  ): Effect.Effect<F["simulation"], Unasked>
  /** False: sequences of transactions mean nothing on the chain, so that no transaction is found by one. Absent: they do. */
  readonly hasSequences?: false
  /** Absent: the network type signs nothing that it does not send. */
  readonly signing?: Signing<F, F["signing"]>
  /** Quotes and builds transactions whose users pay in a token. Absent: no user can. */
  readonly quote?: Answering<F, F["quote"]>
  readonly build?: Answering<F, F["build"]>
}

/** What a new version takes over from the former one, and from the API key that asked for it. */
interface Inherited {
  readonly wait_for_funds?: boolean | undefined
  readonly max_value?: bigint | undefined
}

/** Whether the newest of several versions is this request with this deadline. Undefined: the deadline stayed as it was. */
export const isNewestOf = <R extends Inherited>(codec: Schema.Codec<R, unknown>) => {
  const encode = Schema.encodeUnknownSync(codec)
  const textOf = (request: R) => JSON.stringify(encode(request))
  return (
    { validUntil, versions }: Pick<Transaction, "validUntil"> & { readonly versions: ReadonlyArray<R> },
    request: R,
    deadline: DateTime.Utc | undefined
  ): boolean => {
    const newest = versions.at(-1)
    if (newest === undefined || versions.length === 1) return false
    const { max_value, wait_for_funds } = newest
    const inherited = { ...present("max_value", max_value), ...present("wait_for_funds", wait_for_funds) }
    return (
      textOf(newest) === textOf({ ...inherited, ...request }) &&
      (deadline === undefined || DateTime.toEpochMillis(deadline) === validUntil)
    )
  }
}

const parseOptions = { errors: "all", onExcessProperty: "error" } as const

/** Reads a body that arrived as JSON, and checks one that a host program gives. */
const readerOf = <A>(schema: Schema.Codec<A, unknown>) => {
  const ofText = Schema.decodeUnknownEffect(Json.fromText(schema), parseOptions)
  const ofValue = Schema.decodeUnknownEffect(Schema.toType(schema), parseOptions)
  return (given: unknown): Effect.Effect<A, BadRequest> =>
    (given instanceof JsonBody ? ofText(given.text) : ofValue(given)).pipe(
      Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, "body"))
    )
}

/**
 * Equal bodies have the same text, however their amounts were written and their fields are ordered. The ledger keeps its hash to
 * recognize repeats, so the text of a body is the same in every version of the service.
 */
export const textOf = (body: Schema.Codec<unknown, unknown>) => {
  const encode = Schema.encodeUnknownSync(body)
  return (given: unknown): string => JSON.stringify(encode(given))
}

/** Schemas are compiled once per network, not for each request. */
const readersOf = ({ body, replacement, signing, quote, build }: Intake) => ({
  body: readerOf(body),
  batch: readerOf(batchOf(body)),
  replacement: readerOf(replacement),
  signing: readerOf(signing?.body ?? Schema.Unknown),
  quote: readerOf(quote?.body ?? Schema.Unknown),
  build: readerOf(build?.body ?? Schema.Unknown)
})

const networkOf = (intake: Intake) => ({ intake, read: readersOf(intake), textOf: textOf(intake.body) })

/** An intake, and the readers of its bodies. */
export type IntakeNetwork = ReturnType<typeof networkOf>

/** The networks whose requests this process takes. A host program may replace one. */
export class Intakes extends Context.Service<
  Intakes,
  {
    /** By the network type of a relayer. Undefined: this process takes no requests to send there. */
    of(networkType: string): IntakeNetwork | undefined
  }
>()("effect-relayer/server/transactions/Intake/Intakes") {
  static readonly layer = <E, R>(intakes: Effect.Effect<ReadonlyArray<Intake>, E, R>) =>
    Layer.effect(
      Intakes,
      Effect.map(intakes, (all) => {
        const byType = new Map<string, IntakeNetwork>(all.map((intake) => [intake.rules.type, networkOf(intake)]))
        return Intakes.of({ of: (networkType) => byType.get(networkType) })
      })
    ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
