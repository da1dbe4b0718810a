/** Reads the recipes of the guide. A `##` heading starts a recipe, and the first line of each `ts` block is a comment with its file name. */
import { join } from 'node:path'
import { blocks, page, RECIPE_PAGES } from '../../examples/markdown.ts'

export const HOME: string = join(import.meta.dirname, '..')
/** The folder of the written files. */
export const CODE: string = join(HOME, '.cache')

export interface Recipe {
	/** The anchor of its heading: `aws-sdk`. The test of a recipe is `aws-sdk.test.ts`. */
	readonly name: string
	readonly files: readonly { readonly path: string; readonly code: string }[]
}

const FILE_NAME = /^\/\/ ([\w./[\]-]+)\n/

/** Returns the recipes with code. */
export function recipes(): readonly Recipe[] {
	return RECIPE_PAGES.flatMap((path) => page(path).text.split(/^## /m))
		.map((text) => ({
			name: anchorOf(text.split('\n', 1)[0] ?? ''),
			files: blocks({ path: 'recipe', text })
				.filter(({ language }) => language === 'ts')
				.map(({ code }) => ({ path: fileNameOf(code), code })),
		}))
		.filter(({ files }) => files.length > 0)
}

const anchorOf = (heading: string): string =>
	heading
		.toLowerCase()
		.replaceAll(/[^\w\s-]/g, '')
		.replaceAll(' ', '-')

function fileNameOf(code: string): string {
	const [, name] = FILE_NAME.exec(code) ?? []
	if (name === undefined)
		throw new Error(`a block of a recipe does not start with its file name: ${code.slice(0, 80)}`)
	return name
}
