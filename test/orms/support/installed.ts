/** Where the packages of this run are: those of the lowest versions, or the newest. */
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

export const HOME: string = join(import.meta.dirname, '..')
export const IS_LOWEST: boolean = process.env['YAOKI_ORMS'] === 'lowest'
/** The folder with the ORMs. */
export const ORMS: string = IS_LOWEST ? join(HOME, 'lowest') : HOME

/** Yaoki is in the second one. Servers and types are those of the repository. */
const PLACES = [ORMS, HOME, join(HOME, '..', '..')]

/** Returns the folder of a package. */
export function folderOf(name: string): string {
	const found = PLACES.map((place) => join(place, 'node_modules', name)).find((folder) => existsSync(folder))
	if (found === undefined) throw new Error(`${name} is not a dependency of test/orms`)
	return realpathSync(found)
}
