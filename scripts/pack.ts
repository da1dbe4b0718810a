/** The package as a user gets it: packed by npm and installed from the tarball into a separate folder. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportedSubpaths } from './build/layout.ts'
import { npm, type Ran, ROOT, readJson } from './tools.ts'

export interface Packed {
	/** A separate project whose only dependency is the package. */
	readonly home: string
	readonly tarball: string
	/** The entries that a user can import, such as `yaoki/testing`, with their ES modules in the package. */
	readonly entries: ReadonlyMap<string, string>
	/** The number of files, and their bytes after unpacking. */
	readonly files: number
	readonly bytes: number
	remove(): void
}

/** Packs dist/ as it is. Build it first. */
export function pack(): Packed {
	const home = realpathSync(mkdtempSync(join(tmpdir(), 'yaoki-')))
	const { name, version } = readJson(join(ROOT, 'package.json'))
	const tarball = join(home, `${name}-${version}.tgz`)
	writeFileSync(join(home, 'package.json'), '{ "private": true, "type": "module" }\n')
	const packing = npm(['pack', '--ignore-scripts', '--json', '--pack-destination', home])
	must('npm pack', packing)
	const [{ entryCount, unpackedSize }] = Object.values(JSON.parse(packing.stdout)) as [NpmPack]
	must('npm install', npm(['install', '--no-audit', '--no-fund', '--no-package-lock', tarball], home))
	return {
		home,
		tarball,
		files: entryCount,
		bytes: unpackedSize,
		entries: new Map(
			exportedSubpaths().map(([subpath, target]) => [`${name}${subpath.slice(1)}`, target.default.default]),
		),
		remove: () => rmSync(home, { recursive: true, force: true }),
	}
}

/** The part of npm's report that is used. */
interface NpmPack {
	readonly entryCount: number
	readonly unpackedSize: number
}

function must(what: string, { ok, output }: Ran): void {
	if (!ok) throw new Error(`${what} failed:\n${output}`)
}
