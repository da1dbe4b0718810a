/** Writes the code of each recipe to `.cache/`, before the tests that import it. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CODE, recipes } from './recipes.ts'

export default function writeRecipes(): void {
	rmSync(CODE, { recursive: true, force: true })
	for (const { name, files } of recipes())
		for (const { path, code } of files) {
			const file = join(CODE, name, path)
			mkdirSync(dirname(file), { recursive: true })
			writeFileSync(file, code)
		}
}
