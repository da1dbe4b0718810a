/** The public surface of src as it is now, as files of the repository. The declarations are emitted to a folder that is gone afterwards: dist/ may be old, or in use. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entryName, exportedSubpaths } from '../build/layout.ts'
import { ROOT, readJson, tsc } from '../tools.ts'
import { findCodes } from './codes.ts'
import { findUnclearComments } from './comments.ts'
import { findDuplicates } from './duplicates.ts'
import { exportsPage } from './exports-page.ts'
import { GUIDE_PAGES } from './guide-pages.ts'
import { type Listing, listSurface } from './listing.ts'

/** The folder of the listings, from the root of the project. */
export const LISTINGS = 'test/surface'

export interface Surface {
	readonly listings: ReadonlyMap<string, Listing>
	/** What `npm run surface` writes, by the path from the root of the project. */
	readonly files: ReadonlyMap<string, string>
}

export function currentSurface(): Surface {
	const out = mkdtempSync(join(tmpdir(), 'yaoki-surface-'))
	try {
		const { ok, output } = tsc(
			'-p',
			'tsconfig.build.json',
			'--outDir',
			out,
			'--noEmit',
			'false',
			'--emitDeclarationOnly',
		)
		if (!ok) throw new Error(`src does not compile, so it has no surface:\n${output}`)
		const entries = entriesIn(out)
		const codes = findCodes(textsIn('src', '.ts'))
		const page = exportsPage(entries, { texts: textsIn('docs/guide', '.md'), uses: GUIDE_PAGES })
		const comments = findUnclearComments(entries)
		const problems = [...findDuplicates(entries), ...codes.problems, ...page.problems, ...comments]
		if (problems.length > 0) throw new Error(`The surface breaks a rule:\n${problems.join('\n')}`)
		const listings = listSurface(entries)
		const files = new Map([...listings].map(([entry, { text }]) => [listingFile(entry), text]))
		files.set(`${LISTINGS}/codes.txt`, codesText(codes.classes, listings))
		return { listings, files: files.set('docs/guide/exports.md', page.text) }
	} finally {
		rmSync(out, { recursive: true, force: true })
	}
}

/** `yaoki/testing` is in yaoki-testing.txt. */
const listingFile = (entry: string): string => `${LISTINGS}/${entry.replaceAll('/', '-')}.txt`

function entriesIn(out: string): Map<string, string> {
	const { name } = readJson(join(ROOT, 'package.json'))
	return new Map(
		exportedSubpaths().map(([subpath, target]) => [
			`${name}${subpath.slice(1)}`,
			join(out, entryName(target.default.default), 'index.d.ts'),
		]),
	)
}

/** The texts of a folder, by their paths in it. */
function textsIn(folder: string, extension: string): Map<string, string> {
	const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
	return new Map(
		files
			.filter((file) => file.endsWith(extension))
			.map((file) => [file, readFileSync(join(ROOT, folder, file), 'utf8')]),
	)
}

/** A line for each code: its class, and the entries that export the class. */
function codesText(classes: ReadonlyMap<string, string>, listings: ReadonlyMap<string, Listing>): string {
	const lines = [...classes].sort().map(([code, name]) => {
		const entries = [...listings].filter(([, { names }]) => names.includes(name)).map(([entry]) => entry)
		return `${code} ${name} ${entries.join(', ') || 'not exported'}`
	})
	return ['// Code, class and entry of every error. Written by `npm run surface`.', ...lines, ''].join('\n')
}
