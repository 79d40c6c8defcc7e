// What cases about a backup and a restore share: the two commands, the states that transactions reach, and the answers of an operator.
import { Effect } from "effect"
import type { Duration } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import type { Listening } from "../../testkit/process/Service.ts"
import type * as World from "../World.ts"
import type { Accepted } from "./Load.ts"
import * as Verdict from "./Verdict.ts"

type Place = Pick<Effect.Success<typeof World.make>, "home" | "env">

/** `backup` needs a running service, and `restore` one that has stopped. */
export const commandsIn = ({ home, env }: Place) => {
  const file = path.join(home, "relayer.backup")
  const command = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
    const ended = yield* Service.run({ folder: home, env, flags })
    if (ended.code !== 0) return yield* Effect.die(new Error(ended.stderr))
  })
  // The command does not replace a file.
  const remove = Effect.promise(() => fs.rm(file, { force: true }))
  return { backup: Effect.andThen(remove, command("backup", file)), restore: command("restore", "--replace", file) }
}

/** Waits until all of them have the status. */
export const become = (
  service: Listening,
  status: string,
  sent: ReadonlyArray<Accepted>,
  patience: Duration.Input = "1 minute"
) =>
  Effect.forEach(
    sent,
    (one) =>
      until(
        `${status} of ${one.slot}`,
        Effect.map(Verdict.shown(service, one), (row) => (row.status === status ? true : undefined)),
        patience
      ),
    { concurrency: 4, discard: true }
  )

export const answer = (service: Listening, { relayer, id }: Accepted, given: "send" | "give_up") =>
  service.call(`/api/v1/relayers/${relayer.id}/nonce/resync`, { body: { answer: given, transaction_id: id } })
