// `transactions`: sends, lists, replaces, cancels, explains and awaits transactions.
import { Console, DateTime, Duration, Effect, Option, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { ShownTransaction } from "../../networks/core/Family.ts"
import type { TransactionWait } from "../../networks/core/TransactionRequests.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import type { TransactionStatus } from "../../networks/core/TransactionValues.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import { entriesIn } from "../../networks/evm/rules/AuthorizationText.ts"
import { ReplaceEvmTransaction, SendEvmTransaction } from "../../networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../networks/stellar/rules/StellarRequests.ts"
import * as Call from "../kit/Call.ts"
import * as Contract from "../kit/Contract.ts"
import * as Field from "../kit/Field.ts"
import { Lifetime } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { CommandFailed, exitCodes, printable } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const relayer = Argument.String("relayer").pipe(
  Argument.withSchema(RelayerId),
  Argument.withDescription("Id of the relayer")
)

// `transactions wait`: waits until a transaction is mined or final.

/** Between two reads, each of which waits at the service: longer only if the service cannot be reached, or stops. */
const interval = Duration.seconds(1)

/** Seconds. Most networks confirm within minutes. */
const defaultTimeout = 600

/** Statuses in the order in which a transaction that succeeds has them. */
const order: ReadonlyArray<TransactionStatus> = ["pending", "sent", "submitted", "mined", "confirmed"]

/** What the next read waits for: the next step that is printed, and no more than what the user waits for. */
const nextOf = (
  status: TransactionStatus | undefined,
  wanted: "submitted" | "mined" | "confirmed"
): TransactionWait | undefined => {
  if (status === undefined) return undefined
  if (status === "pending") return "hash"
  if (wanted === "submitted") return undefined
  return status === "mined" ? "confirmed" : "mined"
}

const hasReached = (status: TransactionStatus, wanted: TransactionStatus): boolean =>
  order.indexOf(status) >= order.indexOf(wanted)

/** A restart of the service, or a rate limit, does not end the wait. */
const isPassing = ({ exitCode, status }: CommandFailed): boolean =>
  exitCode === exitCodes.unreachable || status === 429 || status === 503

const hasFailed = (status: TransactionStatus): boolean => !order.includes(status)

const wait = Command.make(
  "wait",
  {
    given: Print.flags,
    relayer,
    id: Verb.id(TransactionId),
    until: Flag.Literals("until", ["submitted", "mined", "confirmed"]).pipe(
      Flag.optional,
      Flag.withDescription("Status to wait for (default confirmed)")
    ),
    timeout: Field.of("timeout", Lifetime).pipe(
      Flag.withDescription("How long to wait, such as 90s or 10m (default 10m)")
    )
  },
  Effect.fnUntraced(function* ({ given, relayer, id, until, timeout }) {
    const run = yield* Call.open(given)
    const wanted = Option.getOrElse(until, () => "confirmed" as const)
    const params = { relayer_id: relayer, transaction_id: id }
    let shown: string | undefined
    let reached: TransactionStatus | undefined

    /** Prints a line when the state changes, on standard error, so that standard output has the result alone. */
    const read = Effect.gen(function* () {
      const wait = nextOf(reached, wanted)
      const query = wait === undefined ? {} : { wait }
      const { value, answer } = yield* run((client) => client.transactions.get({ params, query }))
      const { status, status_reason } = value.data
      reached = status
      const line = `${status}${status_reason === undefined ? "" : `: ${status_reason}`}`
      if (line !== shown && given.output === "table") yield* Console.error(printable(Print.withWholeUnits(line)))
      shown = line
      return { transaction: value.data, answer }
    })

    const { transaction, answer } = yield* read.pipe(
      Effect.retry({ schedule: Schedule.spaced(interval), while: isPassing }),
      Effect.repeat({
        schedule: Schedule.spaced(interval),
        until: ({ transaction }) => hasReached(transaction.status, wanted) || hasFailed(transaction.status)
      }),
      Effect.timeoutOrElse({
        duration: Duration.seconds(Option.getOrElse(timeout, () => defaultTimeout)),
        orElse: () =>
          Effect.fail(
            new CommandFailed({
              message: `the transaction is still ${shown ?? "unknown"}; the service continues with it`,
              exitCode: exitCodes.refused
            })
          )
      })
    )
    const data = Print.dataOf(answer)
    yield* given.output === "json" ? Print.json(data) : Print.table(Print.rowsOf(data))
    if (hasFailed(transaction.status)) {
      return yield* new CommandFailed({
        message: `the transaction is ${transaction.status}`,
        exitCode: exitCodes.refused
      })
    }
  })
).pipe(
  Verb.about(
    "Wait until a transaction is confirmed; exit code 1 if it fails, expires or is canceled.",
    "transactions wait payouts 4f1c…",
    "transactions wait payouts 4f1c… --until mined --timeout 2m"
  )
)

/** The name of a transaction on its chain: on solana, its first signature. */
const hashOf = (transaction: ShownTransaction): string | undefined => {
  if ("hash" in transaction) return transaction.hash
  const signature = "signature" in transaction ? transaction.signature : undefined
  return typeof signature === "string" ? signature : undefined
}

/** What was asked for of evm: on the other networks, a transaction has any number of receivers. */
const receiverOf = (transaction: ShownTransaction): string | undefined =>
  "to" in transaction && typeof transaction.to === "string" ? transaction.to : undefined

const valueOf = (transaction: ShownTransaction): string | undefined =>
  transaction.network_type === "evm" && "value" in transaction
    ? Print.amount(BigInt(transaction.value), "evm")
    : undefined

const columns: Print.ListColumns<ShownTransaction> = {
  ID: ({ id }) => id,
  RELAYER: ({ relayer_id }) => relayer_id,
  CREATED: ({ created_at }) => DateTime.formatIso(created_at),
  STATUS: ({ status }) => status,
  CODE: ({ code }) => code,
  TO: receiverOf,
  VALUE: valueOf,
  NONCE: (transaction) =>
    "nonce" in transaction && transaction.nonce !== undefined ? String(transaction.nonce) : undefined,
  HASH: hashOf
}

const ofRelayer = Contract.call<Print.Listed<ShownTransaction>>("transactions.list")
const ofAll = Contract.call<Print.Listed<ShownTransaction>>("allTransactions.list")

/** The list of all relayers has no pages by number. */
const list = Command.make(
  "list",
  { given: Print.listFlags, relayer: relayer.pipe(Argument.optional), query: ofRelayer.config.query },
  ({ given, relayer, query }) =>
    Print.printList(given, columns, Verb.firstPlace(given.all, Field.given(query)), (client, { page, ...place }) =>
      Option.match(relayer, {
        onNone: () => Effect.flatMap(ofAll.query(place), (query) => ofAll.send(client, { query })),
        onSome: (relayer_id) =>
          Effect.flatMap(ofRelayer.query({ ...place, page }), (query) =>
            ofRelayer.send(client, { params: { relayer_id }, query })
          )
      })
    )
).pipe(
  Verb.about(
    "List the transactions of a relayer, or of all relayers, newest first.",
    "transactions list payouts --status pending --status submitted",
    "transactions list --held",
    "transactions list payouts --origin channel",
    "transactions list --all --output json"
  )
)

/** `--data` has the whole request. */
const flags = { data: "call-data", relayer_id: "relayer" }

const jsonList: Field.ReadText = (text) => {
  const expected = "a JSON list"
  try {
    const value: unknown = ExactJson.parse(text)
    return Array.isArray(value) ? { value } : { expected }
  } catch {
    return { expected }
  }
}

/** What wallets print: JSON, or hex of `cast wallet sign-auth`. */
const authorizations: Field.ReadText = (text) => {
  const read = entriesIn(text)
  if ("value" in read) return read
  return {
    expected:
      read.problem === "printed"
        ? "JSON, and this is how JavaScript prints an object: print it with JSON.stringify, with bigints as text"
        : "a JSON list of authorizations, one of them, or per line one of them or the hex that cast wallet sign-auth prints"
  }
}

/** Fields of an evm transaction that are lists of objects. */
const texts = { calls: jsonList, authorization_list: authorizations }

export const TransactionsCommand = Command.make("transactions").pipe(
  Verb.about("Transactions that relayers send.", "transactions list payouts", "transactions explain payouts 4f1c…"),
  Command.withSubcommands([
    Verb.call(
      "send",
      "transactions.send",
      [
        "transactions send payouts --to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --value 1000000000000000",
        "transactions send payouts --data @transaction.json",
        "transactions send payouts --calls @calls.json",
        "transactions send payouts --to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --authorization-list @signed.json",
        "transactions send payouts --network-type stellar --data @transaction.json"
      ],
      {
        about:
          "Send a transaction. It is stored when the command returns; `transactions wait` waits until it is confirmed.",
        flags,
        texts,
        bodies: { evm: SendEvmTransaction, solana: SendSolanaTransaction, stellar: SendStellarTransaction }
      }
    ),
    list,
    Verb.call("get", "transactions.get", ["transactions get payouts 4f1c… --output json"]),
    Verb.call("explain", "transactions.explain", ["transactions explain payouts 4f1c…"]),
    wait,
    Verb.call(
      "replace",
      "transactions.replace",
      ["transactions replace payouts 4f1c… --to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --speed fastest"],
      {
        about:
          "Send another request at the nonce of a transaction. Until it is mined, the former one may still be executed.",
        flags,
        texts,
        body: ReplaceEvmTransaction
      }
    ),
    Verb.call("cancel", "transactions.cancel", [
      "transactions cancel payouts 4f1c…",
      "transactions cancel payouts 4f1c… --only-pending"
    ]),
    Verb.call("route", "transactions.changeRoute", ["transactions route payouts 4f1c… --route public"]),
    Verb.call("cancel-pending", "transactions.cancelPending", ["transactions cancel-pending payouts"], {
      about: "Cancel all open transactions of a relayer.",
      flags
    }),
    Verb.call(
      "simulate",
      "transactions.simulate",
      ["transactions simulate payouts --to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --value 1"],
      { flags, texts, body: SendEvmTransaction, amountsOf: "evm" }
    )
  ])
)
