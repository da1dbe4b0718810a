/** Pages contain the files of examples as they are, and translations have the structure of their source. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { staleTranslations, withFiles } from '../../scripts/docs.ts'
import { blocks, type Page, page, pages, ROOT } from './markdown.ts'

describe('files of examples in pages', () => {
	test('files of examples in pages are the current ones', () => {
		for (const { path, text } of pages()) expect(text, `${path}: run npm run docs`).toBe(withFiles(text))
	})

	test('a fence with a region gets the lines between its marks', () => {
		const read = () => 'one()\n// #region middle\nif (two()) {\n\tthree()\n}\n// #endregion\nfour()\n'
		const fence = (path: string, code: string) => `\`\`\`ts examples/${path}\n${code}\`\`\`\n`
		const middle = 'if (two()) {\n  three()\n}\n'
		expect(withFiles(fence('a.ts#middle', 'old\n'), read)).toBe(fence('a.ts#middle', middle))
		expect(withFiles(fence('a.ts', ''), read)).toBe(fence('a.ts', `one()\n${middle}four()\n`))
		expect(() => withFiles(fence('a.ts#last', ''), read)).toThrow('examples/a.ts has no region last')
	})

	test('Getting started shows every file of its folder, in order', () => {
		const shown = blocks(page('docs/guide/getting-started.md')).flatMap(({ file }) => file ?? [])
		const files = readdirSync(join(ROOT, 'examples/getting-started')).sort()
		expect(shown).toEqual(files.map((file) => `examples/getting-started/${file}`))
	})

	test.each([
		['tutorial-after-an-incident', 'after-an-incident'],
		['tutorial-metrics', 'metrics-to-grafana'],
		['tutorial-outbox', 'express-outbox'],
		['tutorial-safe-post', 'safe-post'],
		['tutorial-settings', 'settings-survive'],
		['tutorial-webhooks', 'webhooks'],
	])('%s shows every file of examples/%s', (name, folder) => {
		const shown = blocks(page(`docs/guide/${name}.md`)).flatMap(({ file }) => file ?? [])
		const files = readdirSync(join(ROOT, 'examples', folder))
		expect(shown.sort()).toEqual(files.map((file) => `examples/${folder}/${file}`).sort())
	})
})

describe('pages of the guide', () => {
	const guide = pages().filter(({ path }) => /^docs\/guide\/(?!README)/.test(path))
	const KIND = /^# .*\n\n\*(Tutorial|How-to|Explanation|Reference)\*/
	const kindOf = ({ text }: Page): string | undefined => KIND.exec(text)?.[1]

	test('say under the title which kind of page they are', () => {
		expect(guide.filter((one) => kindOf(one) === undefined).map(({ path }) => path)).toEqual([])
	})

	test('pages of the guide have at most 300 lines, without files of examples, unless they are reference', () => {
		const lines = ({ text }: Page): number =>
			text.replaceAll(/^```\w+ examples\/.*?^```$/gms, '').split('\n').length
		const long = guide.filter((one) => kindOf(one) !== 'Reference' && lines(one) > 300)
		expect(long.map(({ path }) => path)).toEqual([])
	})
})

describe('translations', () => {
	const translations = pages().filter(({ path }) => path.endsWith('.ja.md'))
	const levels = (text: string) => text.replaceAll(/^```.*?^```$/gms, '').match(/^#+(?= )/gm)

	test('exist', () => {
		expect(translations.map(({ path }) => path)).toEqual(['README.ja.md', 'docs/guide/getting-started.ja.md'])
	})

	test.each(translations.map((each) => [each.path, each] as const))(
		'%s has the headings and blocks of its source',
		(path, translation) => {
			const source = page(path.replace('.ja.md', '.md'))
			expect(translation.text).toMatch(new RegExp(`\n<!-- source: ${source.path} sha256: \\w{64} -->\n$`))
			expect(levels(translation.text)).toEqual(levels(source.text))
			const codes = (one: typeof source) =>
				blocks(one).map(({ language, file, code, prints }) => ({ language, file, code, prints }))
			expect(codes(translation)).toEqual(codes(source))
		},
	)

	test('translations are stale after a change of their source', () => {
		const changed = (path: string) => page(path).text + (path === 'README.md' ? 'more' : '')
		expect(staleTranslations(changed)).toContainEqual(
			expect.stringMatching(/^README\.ja\.md: README\.md has changed, sha256: \w{64}$/),
		)
	})
})
