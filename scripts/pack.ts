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
	remove(): void
}

/** Packs dist/ as it is. Build it first. */
export function pack(): Packed {
	const home = realpathSync(mkdtempSync(join(tmpdir(), 'yaoki-')))
	const { name, version } = readJson(join(ROOT, 'package.json'))
	const tarball = join(home, `${name}-${version}.tgz`)
	writeFileSync(join(home, 'package.json'), '{ "private": true, "type": "module" }\n')
	must('npm pack', npm(['pack', '--ignore-scripts', '--pack-destination', home]))
	must('npm install', npm(['install', '--no-audit', '--no-fund', '--no-package-lock', tarball], home))
	return {
		home,
		tarball,
		entries: new Map(
			exportedSubpaths().map(([subpath, target]) => [`${name}${subpath.slice(1)}`, target.default.default]),
		),
		remove: () => rmSync(home, { recursive: true, force: true }),
	}
}

function must(what: string, { ok, output }: Ran): void {
	if (!ok) throw new Error(`${what} failed:\n${output}`)
}
