// `transactions wait`: waits until a transaction is mined or final.
import { Console, Duration, Effect, Option, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { TransactionId } from "../../domain/transaction/TransactionId.ts"
import type { TransactionStatus } from "../../domain/transaction/TransactionId.ts"
import * as Call from "../kit/Call.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Field from "../kit/Field.ts"
import { Lifetime } from "../kit/Lifetime.ts"
import * as Print from "../kit/Print.ts"
import * as Table from "../kit/Table.ts"
import * as Verb from "../kit/Verb.ts"

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

export const TransactionsWaitCommand = Command.make(
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
      if (line !== shown && given.output === "table") yield* Console.error(Table.printable(line))
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
    yield* given.output === "json" ? Print.json(data) : Print.table(Table.fields(data).map((row) => [...row]))
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
