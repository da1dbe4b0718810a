/** Reads the documentation as a user would: pages, fenced blocks, tables. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))

export interface Page {
	/** From the root of the repository. */
	readonly path: string
	readonly text: string
}

export const page = (path: string): Page => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })

/** Every page for readers: those at the root, and all of docs/. */
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
	readonly code: string
	/** What stands in a `text` block right below: the output that the page promises. */
	readonly prints: string | undefined
}

const FENCE = /^```(\w*)\n(.*?)^```$\n*(?:^```text\n(.*?)^```$)?/gms

export function blocks({ path, text }: Page): readonly Block[] {
	return [...text.matchAll(FENCE)].map(({ 1: language = '', 2: code = '', 3: prints, index }) => {
		const line = text.slice(0, index).split('\n').length
		return { place: `${path}:${line}`, language, code, prints }
	})
}

/** The rows of the table whose header begins with these cells; each row a list of its cells. */
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

// A bar inside a cell is written \| in Markdown.
const cells = (line: string): readonly string[] =>
	line
		.split(/(?<!\\)\|/)
		.slice(1, -1)
		.map((cell) => cell.trim().replaceAll('\\|', '|'))

/** What stands between backticks. */
export const named = (text: string): readonly string[] =>
	[...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

/** A number as the pages write it. */
export const thousands = (value: number): string => value.toLocaleString('en-US')

/** The first quoted text of a cell, or the whole cell. */
export const unquoted = (cell: string): string => /'([^']+)'/.exec(cell)?.[1] ?? cell
