// What the parts of an import of OpenZeppelin Relayer share.
import * as fs from "node:fs"
import * as path from "node:path"
import type * as Imported from "../Imported.ts"

export interface Options {
  /** The working directory of the old service, which its paths are relative to. */
  readonly folder: string
  /** Folder of the written file, which its references to files are relative to. Absent: the same folder. */
  readonly outFolder?: string
  /** The folder of its networks. Absent: the one that the configuration names. */
  readonly networksFolder?: string
  readonly allNetworks: boolean
  readonly keepPausedState: boolean
  /** The lines of its environment file. */
  readonly dotEnv?: Readonly<Record<string, string | undefined>>
}

export interface Input extends Imported.Context, Options {
  /** The names of all variables that the configuration reads, also for what is left out. */
  readonly named: ReadonlySet<string>
  /** The first signer of each keystore, by its path. */
  readonly keystores: Map<string, string>
}

/** The working directory of the old service in its container. */
const containerFolder = "/app/"

/**
 * A path of the configuration, from the working directory. A path of the container that does not exist here is looked for below the working
 * directory, which is usually mounted there.
 */
export const pathHere = (folder: string, given: string): string => {
  const below = given.startsWith(containerFolder) ? given.slice(containerFolder.length) : undefined
  if (below === undefined || fs.existsSync(given) || !fs.existsSync(path.resolve(folder, below))) return given
  return below
}
