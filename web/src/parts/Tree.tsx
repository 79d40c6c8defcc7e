// A value of the service with the names of its fields, as it is. Objects and lists are nested. Amounts keep all their digits.
import { DateTime } from "effect"
import { At } from "./Time.tsx"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** A long name is broken behind an underscore. */
const Name = ({ name }: { readonly name: string }) =>
  name.split(/(?<=_)/).map((part, index) => (
    <>
      {index > 0 && <wbr key={index} />}
      {part}
    </>
  ))

const Fields = ({ value }: { readonly value: Readonly<Record<string, unknown>> }) => (
  <dl class="kv">
    {Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([name, part]) => (
        <>
          <dt key={name}>
            <code>
              <Name name={name} />
            </code>
          </dt>
          <dd class="wrap">
            <Value value={part} />
          </dd>
        </>
      ))}
  </dl>
)

/** `null` and what is empty have no fields to show, so that a dash stands for them. */
const Value = ({ value }: { readonly value: unknown }) => {
  if (DateTime.isDateTime(value)) return <At at={value.epochMilliseconds} />
  if (Array.isArray(value) && value.length > 0) {
    return (
      <ul class="values">
        {value.map((part: unknown, index) => (
          <li key={index}>
            <Value value={part} />
          </li>
        ))}
      </ul>
    )
  }
  if (isObject(value)) return Object.keys(value).length === 0 ? <>–</> : <Fields value={value} />
  return value === null || value === undefined ? <>–</> : <bdi class="wrap">{String(value)}</bdi>
}

export const Tree = ({ value }: { readonly value: unknown }) => (
  <div class="pad">
    <Fields value={isObject(value) ? value : {}} />
  </div>
)
