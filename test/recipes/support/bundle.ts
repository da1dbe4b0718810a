import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { CODE } from './recipes.ts'

/** Bundles the code of a recipe with the package into one module, as users deploy it. Returns its path. */
export async function bundle(path: string): Promise<string> {
	const file = join(CODE, path.replace(/\.ts$/, '.bundle.js'))
	const build = await rolldown({ input: join(CODE, path) })
	await build.write({ format: 'esm', file, codeSplitting: false })
	await build.close()
	return file
}
