// Where the first line of a written configuration finds the schema, by which editors complete fields and mark wrong ones.
import * as fs from "node:fs"
import * as path from "node:path"

/** The schema of the package, if it is installed in the folder of the file. */
const packaged = "./node_modules/effect-relayer/relayers.schema.json"

/** A schema beside the file works without the package and without the network. */
export const beside = "./relayers.schema.json"

/** `otherwise`: what the line names if the package is not installed in the folder of the file. */
export const schemaFor = (file: string, otherwise: string): string =>
  fs.existsSync(path.join(path.dirname(file), packaged)) ? packaged : otherwise
