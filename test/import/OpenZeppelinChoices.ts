// What generated configurations of OpenZeppelin Relayer choose: texts, amounts, secrets and URLs.
import * as Random from "../../faults/Random.ts"

/** Texts that YAML, JSON, environment files or `${NAME}` could read as something else. */
export const strange = [
  "plain",
  "with: {#",
  "- a",
  "true",
  "0123",
  "${HOME}",
  "$${x}",
  "'",
  '"',
  "a\nb",
  "ä\u2028€",
  " x ",
  "~",
  "`"
]

export const choicesOf = (seed: number) => {
  const random = Random.make(seed)
  const below = (count: number) => random.int(0, count - 1)
  const isSo = () => below(2) === 0
  const one = <A>(items: ReadonlyArray<A>): A => items[below(items.length)] as A
  const maybe = (fields: object) => (isSo() ? fields : {})
  /** A random subset of the fields. */
  const some = (fields: object) => Object.fromEntries(Object.entries(fields).filter(() => isSo()))
  /** An amount that may be beyond 2^53. */
  const amount = (digits: number) => 10n ** BigInt(below(digits)) + BigInt(below(1000))
  const count = (least: number, most: number) => Array.from({ length: random.int(least, most) }, (_, index) => index)
  return { amount, below, count, isSo, maybe, one, random, some }
}

export type Choices = ReturnType<typeof choicesOf>

/** Fields of the generated input, and the fields that the imported document must have. */
export interface Both {
  readonly given: Record<string, unknown>
  readonly wanted: Record<string, unknown>
}

export const both = (fields: object): Both => ({ given: { ...fields }, wanted: { ...fields } })

export const joined = (...parts: ReadonlyArray<Both>): Both => ({
  given: Object.assign({}, ...parts.map(({ given }) => given)) as Record<string, unknown>,
  wanted: Object.assign({}, ...parts.map(({ wanted }) => wanted)) as Record<string, unknown>
})

/** A field whose value is a secret: from a variable, or in the file. Names of variables may be those that an import chooses. */
export const secretsOf = ({ isSo, one }: Choices, variables: Record<string, string>) => {
  const secret = (name: string, id: string, value: string): Both => {
    if (!isSo()) return { given: { [name]: { type: "plain", value } }, wanted: { [name]: value } }
    const usual = `${id}_${name}`.toUpperCase().replaceAll("-", "_")
    const variable = [usual, `SECRET_${Object.keys(variables).length}`].find((free) => variables[free] === undefined)
    const chosen = isSo() ? (variable ?? usual) : `SECRET_${Object.keys(variables).length}`
    variables[chosen] = value
    return { given: { [name]: { type: "env", value: chosen } }, wanted: { [name]: value } }
  }
  const text = () => `${one(strange)}-0123456789abcdef0123456789abcdef`
  return { secret, text }
}

export const urlsOf = ({
  below,
  count,
  isSo,
  maybe,
  one
}: Choices): readonly [given: ReadonlyArray<unknown>, wanted: unknown] => {
  const urls = count(1, 3).map(() => {
    const url = `https://rpc${below(9)}.example.com${one(["", "/", "/v1/words-only", "/v2/a1b2c3d4e5f6a7b8c9d0e1f2", "/?key=0a1b2c3d4e5f6a7b8c9d0e1f"])}`
    if (isSo()) return [url, { url, weight: 100 }]
    const weight = maybe({ weight: below(101) })
    return [
      { url, ...weight },
      { url, weight: 100, ...weight }
    ]
  })
  return [urls.map(([given]) => given), urls.map(([, wanted]) => wanted)]
}
