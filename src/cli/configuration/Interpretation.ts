// Turns the tree of an object into the body of a request: resolves references and variables, and reads scalars as the
// schema of the field expects them.
import type { SchemaAST } from "effect"
import { SchemaAST as Ast } from "effect"
import { variableName } from "../../domain/configuration/Reference.ts"
import { fieldOf, isAmount, isSecret, isText, itemsOf, structsOf } from "../../domain/configuration/Shape.ts"
import * as References from "./References.ts"
import { isNull } from "./Tree.ts"
import type { ListTree, MapTree, Problem, ScalarTree, Tree } from "./Tree.ts"

type Shapes = ReadonlyArray<SchemaAST.AST>

export interface Interpreted {
  readonly body: unknown
  /** Texts with `${NAME}` as they are in the file, by path. Only these texts are ever shown. */
  readonly templates: ReadonlyMap<string, string>
  /** Paths of values that came from a reference. They are never shown. */
  readonly hidden: ReadonlySet<string>
  readonly problems: ReadonlyArray<Problem>
}

/** Fields that name other objects or choose a type: a variable must not decide them. */
const withoutVariables = /^(signer_id|notification_id|network|network_type|type|from|relayer_ids|scopes)$/

const template = /\$\$\{|\$\{([^}]*)\}|\$\{/g

/** Integers of YAML, such as 1_000, are no texts of digits: only these forms count. */
const plainInteger = /^-?(0|[1-9]\d*)$|^0x[0-9a-fA-F]+$/

export const interpret = (tree: Tree, shapes: Shapes, root: string, sources: References.Sources): Interpreted => {
  const templates = new Map<string, string>()
  const hidden = new Set<string>()
  const problems: Array<Problem> = []

  const resolved = (found: References.Resolved, path: string): unknown => {
    if ("problem" in found) {
      problems.push({ path, message: found.problem, place: found.place })
      return undefined
    }
    hidden.add(path)
    return found.value
  }

  const withVariables = (text: string, { place }: ScalarTree, path: string): string => {
    if (!text.includes("${")) return text
    let isTemplate = false
    const result = text.replace(template, (match, name: string | undefined) => {
      if (match === "$${") return "${"
      if (name === undefined || !variableName.test(name)) {
        problems.push({ path, message: "expected ${NAME}; write $${ for the characters ${", place })
        return ""
      }
      isTemplate = true
      const found = sources.variables(name)
      if ("value" in found) return found.value
      problems.push({ path, message: found.problem, place })
      return ""
    })
    if (isTemplate) templates.set(path, text)
    return result
  }

  const ofScalar = (tree: ScalarTree, types: Shapes, path: string, field: string): unknown => {
    const { value, source, place } = tree
    if (typeof value === "string") {
      return withoutVariables.test(field) ? value : withVariables(value, tree, path)
    }
    const takesNumber = types.some((type) => Ast.isNumber(type) || isAmount(type))
    const takesText = types.some(isText)
    if (typeof value === "boolean") {
      return takesText && !types.some(Ast.isBoolean) && source !== undefined ? source : value
    }
    if (takesText && !takesNumber) {
      if (source !== undefined && plainInteger.test(source)) return source
      problems.push({ path, message: "expected a text: put it in quotes", place })
      return undefined
    }
    if (types.some(isAmount) && (typeof value === "number" || (source !== undefined && !plainInteger.test(source)))) {
      problems.push({ path, message: "expected an integer without fraction and exponent", place })
      return undefined
    }
    if (typeof value !== "bigint") return value
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
  }

  const ofList = ({ items }: ListTree, types: Shapes, path: string, field: string): unknown => {
    const inner = itemsOf(types)
    return items.map((item, index) => (isNull(item) ? null : of(item, inner, `${path}.${index}`, field)))
  }

  const scalarOf = (tree: MapTree, name: string): unknown => {
    const value = tree.entries.get(name)?.value
    return value?.type === "scalar" ? (value.value ?? undefined) : undefined
  }

  const ofMap = (tree: MapTree, types: Shapes, path: string): unknown => {
    const structs = structsOf(types, (name) => scalarOf(tree, name))
    const fields: Array<readonly [string, unknown]> = []
    for (const [name, { value }] of tree.entries) {
      if (isNull(value)) continue
      fields.push([name, of(value, fieldOf(structs, name), `${path}.${name}`, name)])
    }
    return Object.fromEntries(fields)
  }

  /** URLs may contain keys, so that a reference may stand for a whole URL. */
  const isReferenceOfUrl = (tree: Tree, types: Shapes, field: string): boolean =>
    field === "url" && types.some(isText) && tree.type === "map"

  const of = (tree: Tree, types: Shapes, path: string, field: string): unknown => {
    if (types.some(isSecret)) {
      return resolved(References.secret(tree, field === "key", sources), path)
    }
    if (isReferenceOfUrl(tree, types, field)) return resolved(References.value(tree, sources), path)
    if (tree.type === "map") return ofMap(tree, types, path)
    return tree.type === "list" ? ofList(tree, types, path, field) : ofScalar(tree, types, path, field)
  }

  return { body: of(tree, shapes, root, ""), templates, hidden, problems }
}
