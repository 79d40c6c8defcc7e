// A flag that takes some of several names, separated by commas.
import { Flag } from "effect/cli"

/** An unknown name is refused, because a run without cases would pass. */
export const flag =
  (known: ReadonlyArray<string>) =>
  (self: Flag.Flag<string>): Flag.Flag<ReadonlyArray<string>> =>
    self.pipe(
      Flag.map((names) => names.split(",")),
      Flag.filter(
        (names) => names.every((name) => known.includes(name)),
        () => `names out of ${known.join(", ")}`
      )
    )
