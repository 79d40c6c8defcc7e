// A value of the service with the names of its fields, as it is. Amounts keep all their digits.
import { DateTime } from "effect"
import { At } from "./Time.tsx"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part), 1)

const Value = ({ value }: { readonly value: unknown }) => {
  if (DateTime.isDateTime(value)) return <At at={value.epochMilliseconds} />
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return <>{String(value)}</>
  return <bdi class="wrap">{typeof value === "string" ? value : textOf(value)}</bdi>
}

export const Tree = ({ value }: { readonly value: unknown }) => (
  <div class="pad">
    <dl class="kv">
      {Object.entries(isObject(value) ? value : {})
        .filter(([, part]) => part !== undefined)
        .map(([name, part]) => (
          <>
            <dt key={name}>
              <code>{name}</code>
            </dt>
            <dd class="wrap">
              <Value value={part} />
            </dd>
          </>
        ))}
    </dl>
  </div>
)
