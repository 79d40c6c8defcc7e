// `transactions`: sends, lists, replaces, cancels, explains and awaits transactions.
import { Console, DateTime, Duration, Effect, Option, Schedule, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { Instant } from "../../domain/request/Shown.ts"
import type { ShownTransaction, TransactionBody } from "../../networks/core/Family.ts"
import { ListedOrigin, TransactionFilter } from "../../networks/core/TransactionRequests.ts"
import { Speed, TransactionId, TransactionStatus } from "../../networks/core/TransactionValues.ts"
import { ReplaceEvmTransaction, SendEvmTransaction } from "../../networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../networks/stellar/rules/StellarRequests.ts"
import * as Call from "../kit/Call.ts"
import * as Field from "../kit/Field.ts"
import { bodyConfig, describeFlags, Lifetime, readBody } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { cursorFlag, firstPlace, listFlags, pageFlags, printList } from "../kit/Print.ts"
import type { ListColumns } from "../kit/Print.ts"
import { CommandFailed, exitCodes, fieldRows, printable } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

// `transactions wait`: waits until a transaction is mined or final.

/** Between two reads: the shortest block time of common networks is a second. */
const interval = Duration.seconds(1)

/** Seconds. Most networks confirm within minutes. */
const defaultTimeout = 600

/** Statuses in the order in which a transaction that succeeds has them. */
const order: ReadonlyArray<TransactionStatus> = ["pending", "sent", "submitted", "mined", "confirmed"]

const hasReached = (status: TransactionStatus, wanted: TransactionStatus): boolean =>
  order.indexOf(status) >= order.indexOf(wanted)

/** A restart of the service, or a rate limit, does not end the wait. */
const isPassing = ({ exitCode, status }: CommandFailed): boolean =>
  exitCode === exitCodes.unreachable || status === 429 || status === 503

const hasFailed = (status: TransactionStatus): boolean => !order.includes(status)

const TransactionsWaitCommand = Command.make(
  "wait",
  {
    given: Print.flags,
    relayer: Argument.String("relayer").pipe(
      Argument.withSchema(RelayerId),
      Argument.withDescription("Id of the relayer")
    ),
    id: Verb.id(TransactionId),
    until: Field.choice("until", ["submitted", "mined", "confirmed"]).pipe(
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

    /** Prints a line when the state changes, on standard error, so that standard output has the result alone. */
    const read = Effect.gen(function* () {
      const { value, answer } = yield* run((client) => client.transactions.get({ params }))
      const { status, status_reason } = value.data
      const line = `${status}${status_reason === undefined ? "" : `: ${status_reason}`}`
      if (line !== shown && given.output === "table") yield* Console.error(printable(line))
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
    yield* given.output === "json" ? Print.json(data) : Print.table(fieldRows(data).map((row) => [...row]))
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

const relayer = Argument.String("relayer").pipe(
  Argument.withSchema(RelayerId),
  Argument.withDescription("Id of the relayer")
)

const target = { relayer, id: Verb.id(TransactionId) }

/** Amounts are in wei, as decimal or 0x-hex text. */
const fields = {
  to: Field.text("to"),
  value: Field.text("value"),
  data: Flag.String("call-data").pipe(Flag.withDescription("Call data, or init code, as 0x-hex"), Flag.optional),
  gas_limit: Field.text("gas_limit"),
  gas_price: Field.text("gas_price"),
  max_fee_per_gas: Field.text("max_fee_per_gas"),
  max_priority_fee_per_gas: Field.text("max_priority_fee_per_gas"),
  speed: Field.choice("speed", Speed.literals),
  valid_until: Field.text("valid_until"),
  wait_for_funds: Field.boolean("wait_for_funds"),
  simulate: Field.boolean("simulate")
}

/** A replacement keeps what these two say if they are not given. */
const replacementFields = {
  ...fields,
  valid_until: Field.text("valid_until"),
  wait_for_funds: Field.boolean("wait_for_funds")
}

/** Requests of each network type. Flags for fields are those of evm. */
const bodies = { evm: SendEvmTransaction, solana: SendSolanaTransaction, stellar: SendStellarTransaction }

const networkType = Flag.Literals("network-type", ["evm", "solana", "stellar"]).pipe(
  Flag.withDescription("Network type of the relayer. The fields of solana and stellar are given by `--data`"),
  Flag.withDefault("evm")
)

const sendBody = bodyConfig(
  SendEvmTransaction,
  {
    ...fields,
    external_id: Field.text("external_id"),
    not_before: Field.text("not_before"),
    nonce: Field.integer("nonce"),
    priority: Field.integer("priority")
  },
  {}
)

const send = Command.make(
  "send",
  { given: Print.flags, target: { relayer }, networkType, body: sendBody },
  Effect.fnUntraced(function* ({ given, target, networkType, body }) {
    const payload: TransactionBody = yield* readBody(bodies[networkType], body)
    return yield* Print.one(given, (client) =>
      client.transactions.send({ params: { relayer_id: target.relayer }, payload })
    )
  })
).pipe(
  Verb.about(
    "Send a transaction. It is stored when the command returns; `transactions wait` waits until it is confirmed.",
    "transactions send payouts --to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --value 1000000000000000",
    "transactions send payouts --data @transaction.json",
    "transactions send payouts --network-type stellar --data @transaction.json"
  )
)

const replace = Verb.send(
  "replace",
  target,
  { schema: ReplaceEvmTransaction, fields: replacementFields },
  (client, payload, { relayer, id }) =>
    client.transactions.replace({ params: { relayer_id: relayer, transaction_id: id }, payload })
).pipe(
  Verb.about(
    "Send another request at the nonce of a transaction. Until it is mined, the former one may still be executed.",
    "transactions replace payouts 4f1c… --to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --speed fastest"
  )
)

/** The name of a transaction on its chain: on solana, its first signature. */
const hashOf = (transaction: ShownTransaction): string | undefined => {
  if ("hash" in transaction) return transaction.hash
  const signature = "signature" in transaction ? transaction.signature : undefined
  return typeof signature === "string" ? signature : undefined
}

const columns: ListColumns<ShownTransaction> = {
  ID: ({ id }) => id,
  RELAYER: ({ relayer_id }) => relayer_id,
  CREATED: ({ created_at }) => DateTime.formatIso(created_at),
  STATUS: ({ status }) => status,
  CODE: ({ code }) => code,
  NONCE: (transaction) =>
    "nonce" in transaction && transaction.nonce !== undefined ? String(transaction.nonce) : undefined,
  HASH: hashOf
}

const moment = (field: string) => Field.of(field, Instant)

const filter = describeFlags(Schema.Struct(TransactionFilter), {
  status: Field.many(Flag.Literals("status", TransactionStatus.literals)),
  code: Field.many(Flag.String("code")),
  held: Field.boolean("held"),
  hash: Field.text("hash"),
  external_id: Field.text("external_id"),
  created_after: moment("created_after"),
  created_before: moment("created_before"),
  origin: Field.choice("origin", ListedOrigin.literals)
})

const list = Command.make(
  "list",
  {
    given: listFlags,
    relayer: relayer.pipe(Argument.optional),
    pages: { ...pageFlags, cursor: cursorFlag },
    filter
  },
  ({ given, relayer, pages: { cursor, ...pages }, filter }) => {
    const start = { ...firstPlace(given.all, pages), ...Field.given({ cursor }) }
    const query = Field.given(filter)
    return printList<ShownTransaction, unknown>(given, columns, start, (client, { page, ...place }) =>
      relayer._tag === "None"
        ? client.allTransactions.list({ query: { ...query, ...place } })
        : client.transactions.list({
            params: { relayer_id: relayer.value },
            query: { ...query, ...place, ...(page === undefined ? {} : { page }) }
          })
    )
  }
).pipe(
  Verb.about(
    "List the transactions of a relayer, or of all relayers, newest first.",
    "transactions list payouts --status pending --status submitted",
    "transactions list --held",
    "transactions list payouts --origin channel",
    "transactions list --all --output json"
  )
)

/** A command about one transaction. */
const onOne = <const Name extends string, A, E>(
  name: Name,
  call: (
    client: Call.Client,
    params: { readonly relayer_id: RelayerId; readonly transaction_id: TransactionId }
  ) => Effect.Effect<A, E>
) => Verb.call(name, target, (client, { relayer, id }) => call(client, { relayer_id: relayer, transaction_id: id }))

export const TransactionsCommand = Command.make("transactions").pipe(
  Verb.about("Transactions that relayers send.", "transactions list payouts", "transactions explain payouts 4f1c…"),
  Command.withSubcommands([
    send,
    list,
    onOne("get", (client, params) => client.transactions.get({ params })).pipe(
      Verb.about("Get a transaction with all its attempts.", "transactions get payouts 4f1c… --output json")
    ),
    onOne("explain", (client, params) => client.transactions.explain({ params })).pipe(
      Verb.about("Explain what a transaction waits for and what happens next.", "transactions explain payouts 4f1c…")
    ),
    TransactionsWaitCommand,
    replace,
    onOne("cancel", (client, params) => client.transactions.cancel({ params })).pipe(
      Verb.about(
        "Cancel a transaction. Only the status `canceled` promises that it has no effect.",
        "transactions cancel payouts 4f1c…"
      )
    ),
    Verb.call("cancel-pending", { relayer }, (client, { relayer }) =>
      client.transactions.cancelPending({ params: { relayer_id: relayer } })
    ).pipe(Verb.about("Cancel all open transactions of a relayer.", "transactions cancel-pending payouts")),
    Verb.send("simulate", { relayer }, { schema: SendEvmTransaction, fields }, (client, payload, { relayer }) =>
      client.transactions.simulate({ params: { relayer_id: relayer }, payload })
    ).pipe(
      Verb.about(
        "Show what a transaction would do and cost now, without sending it.",
        "transactions simulate payouts --to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --value 1"
      )
    )
  ])
)
