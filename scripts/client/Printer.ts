// Prints the types of schemas as TypeScript: an interface for each schema with a name, whose properties have the description and
// the example of the schema as comments.
import type { Leaf, Property, Shape } from "./Shape.ts"

/** How the values of a client are typed. */
export interface Dialect {
  readonly leaf: (leaf: Leaf) => string
  readonly brand: (text: string, brand: string) => string
  readonly redacted: (text: string) => string
}

type Named = Extract<Shape, { kind: "named" }>

const indent = (text: string): string => text.replaceAll("\n", "\n  ")

const maxWidth = 110

const wrapped = (text: string): ReadonlyArray<string> =>
  text.split(" ").reduce<ReadonlyArray<string>>((lines, word) => {
    const last = lines.at(-1) ?? ""
    return last === "" || last.length + word.length >= maxWidth
      ? [...lines.filter((line) => line !== ""), word]
      : [...lines.slice(0, -1), `${last} ${word}`]
  }, [])

/** A comment on lines of its own, because TypeScript does not show others. */
export const comment = (...paragraphs: ReadonlyArray<string>): string => {
  const lines = paragraphs.filter((text) => text !== "").map((text) => wrapped(text.replaceAll("*/", "*\\/")))
  if (lines.length === 0) return ""
  const [[only = ""] = []] = lines
  if (lines.length === 1 && lines[0]?.length === 1) return `/** ${only} */\n`
  const body = lines.map((paragraph) => paragraph.map((line) => ` * ${line}`).join("\n")).join("\n *\n")
  return `/**\n${body}\n */\n`
}

const union = (members: ReadonlyArray<string>): string => {
  const line = members.join(" | ")
  return line.length < maxWidth ? line : members.map((member) => `\n  | ${indent(member)}`).join("")
}

/** Any text, in a union with known ones. TypeScript would forget those beside `string`, and editors would not offer them. */
const otherText = "(string & Record<never, never>)"

/** Whether a member of a union of known texts stands for all other texts. */
const isOpen = ({ members }: Extract<Shape, { kind: "union" }>, member: Shape): boolean =>
  member.kind === "leaf" && member.leaf === "string" && members.some(({ kind }) => kind === "union" || kind === "named")

const nameOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

const documentationOf = ({ description = "", example }: Property): string =>
  comment(`${description}${example === undefined ? "" : ` Example: \`${JSON.stringify(example)}\``}`.trim())

const block = (lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "{}" : `{${indent(["", ...lines].join("\n"))}\n}`

export const interfaceOf = (name: string, description: string, members: ReadonlyArray<string>, base?: string): string =>
  `${comment(description)}export interface ${name} ${base === undefined ? "" : `extends ${base} `}${block(members)}\n`

export interface Printer {
  readonly type: (shape: Shape) => string
  /** What the printed types refer to, by name. */
  readonly declarations: ReadonlyMap<string, string>
}

const referencesOf = (text: string): ReadonlyArray<string> =>
  text.replaceAll(/\/\*\*.*?\*\//gs, "").match(/\b[A-Z]\w*/g) ?? []

/** The names whose types mean the same in both: their texts are equal, and so are those of all types that they refer to. */
export const equalNames = (
  one: ReadonlyMap<string, string>,
  other: ReadonlyMap<string, string>
): ReadonlySet<string> => {
  const names = [...one].flatMap(([name, text]) => (other.get(name) === text ? [name] : []))
  const withEqualReferences = (equal: ReadonlySet<string>): ReadonlySet<string> => {
    const kept = [...equal].filter((name) =>
      referencesOf(one.get(name) ?? "").every((used) => equal.has(used) || !(one.has(used) || other.has(used)))
    )
    return kept.length === equal.size ? equal : withEqualReferences(new Set(kept))
  }
  return withEqualReferences(new Set(names))
}

/** Imports or exports types of another module. */
export const typesFrom = (keyword: "import" | "export", names: Iterable<string>, module: string): string =>
  `${keyword} type {\n  ${[...names].toSorted().join(",\n  ")}\n} from "${module}"\n`

/** Those of `names` that `text` refers to. */
export const namesUsed = (text: string, names: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(referencesOf(text).filter((name) => names.has(name)))

/** An interface that the client declares once. Each type that has all properties of the interface extends it. */
export interface Base {
  readonly name: string
  readonly description: string
  readonly properties: ReadonlyArray<Property>
}

interface Options {
  /** Gives the types of this dialect their own names. */
  readonly rename?: (name: string) => string
  readonly base?: Base
}

export const make = (dialect: Dialect, { base, rename = (name) => name }: Options = {}): Printer => {
  const declarations = new Map<string, string>()

  const members = (properties: ReadonlyArray<Property>): ReadonlyArray<string> =>
    properties.map((property) => {
      const { isOptional, name, shape } = property
      return `${documentationOf(property)}readonly ${nameOf(name)}${isOptional ? "?" : ""}: ${type(shape)}`
    })

  /** The members that the struct declares itself, and the name of the interface that declares the other members. */
  const inherited = (properties: ReadonlyArray<Property>): readonly [ReadonlyArray<string>, base?: string] => {
    const own = members(properties)
    if (base === undefined) return [own]
    const ofBase = members(base.properties)
    if (!ofBase.every((member) => own.includes(member))) return [own]
    declarations.set(base.name, interfaceOf(base.name, base.description, ofBase))
    return [own.filter((member) => !ofBase.includes(member)), base.name]
  }

  const declare = (name: string, { description, of }: Named): string => {
    const shape = of()
    return shape.kind === "struct"
      ? interfaceOf(name, description, ...inherited(shape.properties))
      : `${comment(description)}export type ${name} = ${type(shape)}\n`
  }

  const struct = (properties: ReadonlyArray<Property>): string => {
    const [own, base] = inherited(properties)
    return base === undefined ? block(own) : `${base} & ${block(own)}`
  }

  const named = (shape: Named): string => {
    const name = rename(shape.name)
    const known = declarations.get(name)
    // Its declaration is being printed, or it contains itself.
    if (known === "") return name
    declarations.set(name, "")
    const declaration = declare(name, shape)
    if (known !== undefined && known !== declaration) throw new Error(`two types of the clients have the name ${name}`)
    declarations.set(name, declaration)
    return name
  }

  const type = (shape: Shape): string => {
    switch (shape.kind) {
      case "leaf":
        return dialect.leaf(shape.leaf)
      case "literal":
        return shape.text
      case "brand":
        return dialect.brand(type(shape.of), shape.brand)
      case "redacted":
        return dialect.redacted(type(shape.of))
      case "array":
        return `ReadonlyArray<${type(shape.item)}>`
      case "tuple":
        return `readonly [${shape.items.map(type).join(", ")}]`
      case "record":
        return `{ readonly [key: string]: ${type(shape.value)} }`
      case "struct":
        return struct(shape.properties)
      case "union":
        return union([...new Set(shape.members.map((member) => (isOpen(shape, member) ? otherText : type(member))))])
      case "named":
        return named(shape)
    }
  }

  return { type, declarations }
}
