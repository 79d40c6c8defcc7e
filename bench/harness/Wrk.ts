// Prepares a load for `wrk`: the arguments, and the plan as a Lua file that `wrk.lua` reads.
import * as fs from "node:fs"
import * as path from "node:path"
import type { Load, Request } from "./Load.ts"

const placeholders: Record<string, string> = { "@ID@": "1", "@N@": "2" }

const partsOf = (text: string) =>
  text
    .split(/(@ID@|@N@)/)
    .filter((part) => part !== "")
    .map((part) => placeholders[part] ?? JSON.stringify(part))

const rawRequest = (key: string, { method, path, body }: Request): string => {
  // `wrk.lua` fills in numbers of 9 digits.
  const length = body?.replaceAll("@N@", "000000000").length
  const content = length === undefined ? [] : ["Content-Type: application/json", `Content-Length: ${length}`]
  const head = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1", `Authorization: Bearer ${key}`, ...content]
  return `${head.join("\r\n")}\r\n\r\n${body ?? ""}`
}

export const args = ({ url, key, plan, connections, seconds, folder }: Load): ReadonlyArray<string> => {
  const requests = plan.requests.map((request) => `{${partsOf(rawRequest(key, request)).join(",")}}`)
  const ids = plan.ids === undefined ? "nil" : JSON.stringify(plan.ids)
  const file = path.join(folder, "plan.lua")
  fs.writeFileSync(file, `return { from = ${plan.from}, ids = ${ids}, requests = {${requests.join(",\n")}} }\n`)
  const script = path.join(import.meta.dirname, "wrk.lua")
  return ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "30s", "-s", script, url, "--", file]
}
