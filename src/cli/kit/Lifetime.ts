// Durations as users write them: `45s`, `30m`, `12h`, `30d`, `2w`.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

const expected = "a duration such as 45s, 30m, 12h, 30d or 2w"

/** In seconds. */
export const Lifetime = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Int,
    SchemaTransformation.transformEffect({
      decode: (text: string, options) => {
        const [, count, unit = ""] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
        return count === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ expected }, text, options))
          : Effect.succeed(Number(count) * (seconds[unit] ?? 0))
      },
      encode: (span: number) => Effect.succeed(`${span}s`)
    })
  )
)
