// Records of what callers may repeat at will, such as refusals: they must not fill the audit log.
import { Duration, Effect, FiberSet } from "effect"

/** The first of a name is recorded at once, and further ones of this time are recorded together at its end. */
export const interval = Duration.minutes(1)

interface Further<A> {
  readonly last: A
  readonly count: number
}

/** `record` gets the last one, and how many there were. It is also called if the instance stops before the end of the interval. */
export const make = <A>(record: (last: A, count: number) => Effect.Effect<void>) =>
  Effect.map(FiberSet.makeRuntime<never>(), (run) => {
    /** An entry exists for the interval after a record. */
    const further = new Map<string, Further<A> | undefined>()

    const recordFurther = (name: string) =>
      Effect.suspend(() => {
        const found = further.get(name)
        further.delete(name)
        return found === undefined ? Effect.void : record(found.last, found.count)
      })

    return (name: string, one: A) =>
      Effect.suspend(() => {
        if (further.has(name)) {
          further.set(name, { last: one, count: (further.get(name)?.count ?? 0) + 1 })
          return Effect.void
        }
        further.set(name, undefined)
        run(Effect.ensuring(Effect.sleep(interval), recordFurther(name)))
        return record(one, 1)
      })
  })
