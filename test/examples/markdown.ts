/** Reads pages, fenced blocks and tables of the documentation. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))

export interface Page {
	/** Relative to the root of the repository. */
	readonly path: string
	readonly text: string
}

export const page = (path: string): Page => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })

const guidePages = (prefix: string): readonly string[] =>
	readdirSync(join(ROOT, 'docs/guide'))
		.filter((file) => file.startsWith(prefix))
		.map((file) => `docs/guide/${file}`)

/** `npm run recipes` compiles and runs their examples; see test/recipes. */
export const RECIPE_PAGES: readonly string[] = guidePages('recipes')

/** `npm run orms` compiles and runs their examples; see test/orms. */
export const ORM_PAGES: readonly string[] = guidePages('orms')

/** Pages whose examples need packages of their own. */
export const PAGES_WITH_PACKAGES: readonly string[] = [...RECIPE_PAGES, ...ORM_PAGES]

/** Returns all pages: those at the root and in docs/. */
export function pages(): readonly Page[] {
	const atRoot = readdirSync(ROOT).filter((file) => file.endsWith('.md'))
	const inDocs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
		.filter((file) => file.endsWith('.md'))
		.map((file) => `docs/${file.replaceAll('\\', '/')}`)
	return [...atRoot, ...inDocs].sort().map(page)
}

export interface Block {
	/** `README.md:12`, for messages. */
	readonly place: string
	readonly language: string
	/** The file of an example that the block contains: see scripts/docs.ts. */
	readonly file: string | undefined
	readonly code: string
	/** The `text` block directly below: the documented output. */
	readonly prints: string | undefined
}

const FENCE = /^```(\w*)(?: (\S+))?\n(.*?)^```$\n*(?:^```text\n(.*?)^```$)?/gms

export function blocks({ path, text }: Page): readonly Block[] {
	return [...text.matchAll(FENCE)].map(({ 1: language = '', 2: file, 3: code = '', 4: prints, index }) => {
		const line = text.slice(0, index).split('\n').length
		return { place: `${path}:${line}`, language, file, code, prints }
	})
}

/** Returns the rows of the table whose header starts with these cells. */
export function table({ path, text }: Page, ...header: readonly string[]): readonly (readonly string[])[] {
	const lines = text.split('\n')
	const at = lines.findIndex((line) => {
		const found = cells(line)
		return header.every((cell, index) => found[index] === cell)
	})
	if (at < 0) throw new Error(`${path} has no table with the columns ${header.join(', ')}`)
	const rest = lines.slice(at + 2)
	const end = rest.findIndex((line) => !line.startsWith('|'))
	return rest.slice(0, end < 0 ? undefined : end).map(cells)
}

/** A heading of the third level and the text below it. */
export interface Entry {
	readonly heading: string
	readonly text: string
}

/** Returns the entries of a section, or of the whole page. */
export function entriesOf({ path, text }: Page, section?: string): readonly Entry[] {
	const sections = text.split('\n## ').slice(1)
	const chosen = sections.filter((one) => section === undefined || one.startsWith(`${section}\n`))
	if (chosen.length === 0) throw new Error(`${path} has no section ${section}`)
	return chosen.flatMap((one) =>
		one
			.split('\n### ')
			.slice(1)
			.map((entry) => {
				const end = entry.indexOf('\n')
				return { heading: entry.slice(0, end), text: entry.slice(end).trim() }
			}),
	)
}

// Markdown escapes a bar inside a cell.
const cells = (line: string): readonly string[] =>
	line
		.split(/(?<!\\)\|/)
		.slice(1, -1)
		.map((cell) => cell.trim().replaceAll('\\|', '|'))

/** Returns the texts between backticks. */
export const named = (text: string): readonly string[] =>
	[...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

/** Formats a number like the pages. */
export const thousands = (value: number): string => value.toLocaleString('en-US')

/** Returns the first quoted text of a cell, or the whole cell. */
export const unquoted = (cell: string): string => /'([^']+)'/.exec(cell)?.[1] ?? cell
