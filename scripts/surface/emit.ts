/** The declarations of src as it is now, in a folder that is gone afterwards: dist/ may be old, or in use. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entryName, exportedSubpaths } from '../build/layout.ts'
import { ROOT, readJson, tsc } from '../tools.ts'
import { findDuplicates } from './duplicates.ts'
import { type Listing, listSurface } from './listing.ts'

export const LISTINGS: string = join(ROOT, 'test', 'surface')

/** The listing's file in LISTINGS: `yaoki/testing` is in yaoki-testing.txt. */
export const fileName = (entry: string): string => `${entry.replaceAll('/', '-')}.txt`

export function currentSurface(): Map<string, Listing> {
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
		const problems = findDuplicates(entries)
		if (problems.length > 0) throw new Error(`names have two meanings:\n${problems.join('\n')}`)
		return listSurface(entries)
	} finally {
		rmSync(out, { recursive: true, force: true })
	}
}

function entriesIn(out: string): Map<string, string> {
	const { name } = readJson(join(ROOT, 'package.json'))
	return new Map(
		exportedSubpaths().map(([subpath, target]) => [
			`${name}${subpath.slice(1)}`,
			join(out, entryName(target.default.default), 'index.d.ts'),
		]),
	)
}
