import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportedSubpaths } from '../../scripts/build/layout.ts'
import { packagedPages, withPlaceholder } from '../../scripts/publishable.ts'
import { ROOT, readJson } from '../../scripts/tools.ts'

const manifest = readJson(join(ROOT, 'package.json'))
const address = String(manifest['homepage']).replace('#readme', '')

describe('the manifest', () => {
	test('names one repository for its source, its home page and its bugs', () => {
		expect(address).toMatch(/^https:\/\/[^/]+\/[^/]+\/yaoki$/)
		expect(manifest['repository']).toEqual({ type: 'git', url: `git+${address}.git` })
		expect(manifest['bugs']).toBe(`${address}/issues`)
	})

	test.each(exportedSubpaths())(
		'resolves %s to one ES module in Node and Bun, and to CommonJS in Jest',
		(_, target) => {
			expect(Object.keys(target)).toEqual(['module-sync', 'bun', 'require', 'default'])
			for (const paths of Object.values(target)) expect(Object.keys(paths)).toEqual(['types', 'default'])
			const { default: file } = target.default
			expect(target['module-sync']).toEqual(target.default)
			expect(target.bun).toEqual(target.default)
			expect(target.require.default).toBe(file.replace(/\.js$/, '.cjs'))
			expect(target.require.types).toBe(file.replace(/\.js$/, '.d.cts'))
		},
	)

	test('gives old module resolution the types of every subpath', () => {
		const types = exportedSubpaths().map(
			([
				subpath,
				{
					require: { types },
				},
			]) => [subpath.slice(2), [types]],
		)
		expect(manifest['types']).toBe(types[0]?.[1]?.[0])
		expect(manifest['typesVersions']).toEqual({ '*': Object.fromEntries(types.slice(1)) })
	})

	test('the manifest is not published while the address of the repository is a placeholder', () => {
		expect(Object(manifest['scripts']).prepublishOnly).toBe('node scripts/publishable.ts')
		const files = {
			'package.json': 'https://github.com/OWNER/yaoki',
			'README.md': 'https://github.com/yaoki/yaoki',
		}
		expect(withPlaceholder(files)).toEqual(['package.json'])
	})
})

describe('the documentation in the package', () => {
	const files = packagedPages()

	test('the documentation in the package is README, changelog and guide', () => {
		expect(files).toEqual(expect.arrayContaining(['README.md', 'README.ja.md', 'CHANGELOG.md']))
		expect(files.filter((file) => file.startsWith('docs/guide/')).length).toBeGreaterThan(60)
	})

	test.each(files)('%s links only to files of the package, or to the repository', (file) => {
		const text = readFileSync(join(ROOT, file), 'utf8')
		for (const [, link = ''] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
			const [, inRepository] = new RegExp(`^${address}/(?:blob|tree)/main/(.*)$`).exec(link) ?? []
			if (inRepository !== undefined) expect(existsSync(join(ROOT, inRepository)), link).toBe(true)
			else if (!link.startsWith('https:')) expect([...files, 'LICENSE']).toContain(join(dirname(file), link))
		}
	})
})
