// What happens to a command when nobody reads its output any more, such as in `… | head`: it ends, which is not a failure.
import { Context, Effect, Ref } from "effect"

const GoesOn = Context.Reference("effect-relayer/cli/kit/Unread/GoesOn", {
  defaultValue: () => Ref.makeUnsafe(false)
})

/** From now on, the command goes on without a reader: it makes changes, and its exit code says whether they were made. */
export const goOn = Effect.flatMap(GoesOn, Ref.set(true))

/** The listener stays after an interruption, because the last write may fail later. */
const readerIsGone = Effect.callback<void>((resume) => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    resume(error.code === "EPIPE" ? Effect.void : Effect.die(error))
  })
})

/** Ends when the command has to end. */
export const end = Effect.andThen(readerIsGone, GoesOn).pipe(
  Effect.flatMap(Ref.get),
  Effect.flatMap((goesOn) => (goesOn ? Effect.never : Effect.void))
)
