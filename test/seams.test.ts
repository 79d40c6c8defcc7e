// Every layer that the package declares can be built by a host program: what it requires is exported, or is a part of Effect.
import { assert, describe, it } from "@effect/vitest"
import type { Context, FileSystem, Layer, Path } from "effect"
import type { Etag, HttpPlatform, HttpRouter } from "effect/http"
import type { RateLimiter } from "effect/persistence"
import type { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import type * as Root from "../src/index.ts"

type Exports = typeof Root

type Exported = {
  readonly [Name in keyof Exports]: Exports[Name] extends Context.Key<infer Id, infer _> ? Id : never
}[keyof Exports]

/** What `Services.layer` provides to `Server.layer`, although some of it is not exported. */
type Built = Layer.Success<ReturnType<typeof Root.Services.layer>>

/** What programs get from Effect: from a server of its platform, from `Sql.layer`, and from a store of rate limits. */
type OfEffect =
  | FileSystem.FileSystem
  | Path.Path
  | Etag.Generator
  | HttpPlatform.HttpPlatform
  | HttpRouter.HttpRouter
  | HttpRouter.Request<"Error", unknown>
  | RateLimiter.RateLimiterStore
  | SqlClient.SqlClient

type Available = Exported | Built | OfEffect

/** The layers that are declared. `stripInternal` removes those with `@internal` from the declarations. */
interface Declared {
  readonly "ChainAccess.layer": typeof Root.ChainAccess.layer
  readonly "Draining.layer": typeof Root.Draining.layer
  readonly "Outbound.layer": ReturnType<typeof Root.Outbound.layer>
  readonly "Outbound.layerRestricted": ReturnType<typeof Root.Outbound.layerRestricted>
  readonly "RateLimits.layer": ReturnType<typeof Root.RateLimits.layer>
  readonly "RateLimits.layerMemory": ReturnType<typeof Root.RateLimits.layerMemory>
  readonly "Secrets.layer": ReturnType<typeof Root.Secrets.layer>
  readonly "SignerBackends.layer": typeof Root.SignerBackends.layer
}

type Required<L> = L extends Layer.Layer<infer _, infer _E, infer R> ? R : never

type Missing<Layers> = {
  readonly [Name in keyof Layers as Exclude<Required<Layers[Name]>, Available> extends never ? never : Name]: Exclude<
    Required<Layers[Name]>,
    Available
  >
}

/** It does not compile if a layer requires something else: the type then has a property with the name of the layer and what it lacks. */
const missing: Missing<
  Declared & {
    readonly "Services.layer": ReturnType<typeof Root.Services.layer>
    readonly "Services.layerNoAuthentication": ReturnType<typeof Root.Services.layerNoAuthentication>
    readonly "Services.layerNoDeps": ReturnType<typeof Root.Services.layerNoDeps>
    readonly "Server.layer": ReturnType<typeof Root.Server.layer>
    readonly "Server.mount": ReturnType<typeof Root.Server.mount>
    readonly "Server.routes": ReturnType<typeof Root.Server.routes>
  }
> = {}

/** The names of `Declared`, which the compiler keeps complete. */
const declared: Readonly<Record<keyof Declared, true>> = {
  "ChainAccess.layer": true,
  "Draining.layer": true,
  "Outbound.layer": true,
  "Outbound.layerRestricted": true,
  "RateLimits.layer": true,
  "RateLimits.layerMemory": true,
  "Secrets.layer": true,
  "SignerBackends.layer": true
}

const src = path.join(import.meta.dirname, "../src")

/** A class, or a layer of the class before it. */
const declaration = /^(?:export )?class (\w+)|(@internal(?:(?!\*\/)[^])*\*\/\n)?^  static readonly (layer\w*)/gm

const layersIn = (file: string): ReadonlyArray<string> => {
  let owner = ""
  return [...fs.readFileSync(path.join(src, file), "utf8").matchAll(declaration)].flatMap(
    ([, name, internal, member]) => {
      owner = name ?? owner
      return member === undefined || internal !== undefined ? [] : [`${owner}.${member}`]
    }
  )
}

/** The layers of the classes that `index.ts` exports, without internal ones. */
const found = [
  ...fs.readFileSync(path.join(src, "index.ts"), "utf8").matchAll(/^export \{ ([\w, ]+) \} from "(\.\/[^"]+)"/gm)
].flatMap(([, names = "", file = ""]) =>
  layersIn(file).filter(
    (name) => names.split(", ").includes(name.split(".")[0] ?? "") && !name.startsWith("ApiClient.")
  )
)

describe("the layers of the package", () => {
  it("can be built from what is exported, or are internal", () => {
    assert.deepStrictEqual(missing, {})
    assert.deepStrictEqual([...new Set(found)].toSorted(), Object.keys(declared))
  })
})
