import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkOutFiles, formatJson, writeOutFile } from '../../../src/cli/simulate/run-study.ts'
import { Folder } from './files.ts'

const contents = { '.svg': () => '<svg/>', '.html': () => '<p>', '.json': () => '{}' }

describe('an --out file', () => {
	test('an --out file is rejected for an unknown extension', async () => {
		for (const file of ['a.png', 'svg', 'a.', ''])
			await expect(checkOutFiles(['ok.svg', file])).rejects.toMatchObject({
				optionPath: '--out',
				received: file,
				expected: 'a file with extension .svg, .html, .json',
			})
	})

	test('an --out file is rejected if its folder does not exist', async () => {
		const folder = new Folder()
		const file = folder.at('missing/a.svg')
		await expect(checkOutFiles([file])).rejects.toMatchObject({
			kind: 'notFound',
			message: `Cannot write ${file}: folder "${folder.at('missing')}" does not exist.`,
		})
		const inFile = `${folder.write('a.txt', '')}/b.svg`
		await expect(checkOutFiles([inFile])).rejects.toMatchObject({ kind: 'notFound' })
		await expect(checkOutFiles([folder.at('a.SVG'), 'here.json'])).resolves.toBeUndefined()
	})

	test('an --out file is rejected if it is a folder', async () => {
		const folder = new Folder()
		mkdirSync(folder.at('d.svg'))
		await expect(checkOutFiles([folder.at('d.svg')])).rejects.toMatchObject({
			optionPath: '--out',
			expected: 'a file, not a folder',
		})
	})

	test('an --out file has the content of its extension, and no temporary file remains', async () => {
		const folder = new Folder()
		folder.write('b.html', 'old')
		for (const name of ['a.svg', 'b.html', 'c.JSON']) await writeOutFile(folder.at(name), contents)
		expect(readdirSync(folder.path)).toEqual(['a.svg', 'b.html', 'c.JSON'])
		expect(readFileSync(folder.at('b.html'), 'utf8')).toBe('<p>')
		expect(readFileSync(folder.at('c.JSON'), 'utf8')).toBe('{}')
	})

	test('stays unchanged if the new content cannot be rendered or written', async () => {
		const folder = new Folder()
		const file = folder.write('a.svg', 'old')
		const failing = {
			...contents,
			'.svg': () => {
				throw new Error('no chart')
			},
		}
		await expect(writeOutFile(file, failing)).rejects.toMatchObject({
			kind: 'failure',
			message: `Cannot write ${file}: no chart`,
		})
		mkdirSync(folder.at('b.svg'))
		await expect(writeOutFile(folder.at('b.svg'), contents)).rejects.toMatchObject({ kind: 'failure' })
		expect(readdirSync(folder.path)).toEqual(['a.svg', 'b.svg'])
		expect(readFileSync(file, 'utf8')).toBe('old')
	})

	test('can be a symbolic link and stays one', async () => {
		const folder = new Folder()
		symlinkSync(folder.write('real.svg', 'old'), folder.at('link.svg'))
		await writeOutFile(folder.at('link.svg'), contents)
		expect(lstatSync(folder.at('link.svg')).isSymbolicLink()).toBe(true)
		expect(readFileSync(folder.at('real.svg'), 'utf8')).toBe('<svg/>')
	})
})

describe('a JSON file', () => {
	const data = {
		title: 'a [1,\n\t2]',
		steps: [1, -2.5, 1e21, 0],
		names: ['x'],
		none: [],
		mixed: [1, null, [2]],
	}

	test('a JSON file has each list of numbers in one line, everything else indented', () => {
		const text = formatJson(data)
		expect(text).toContain('\n\t"steps": [1,-2.5,1e+21,0],\n')
		expect(text).toContain('\n\t"names": [\n\t\t"x"\n\t],\n')
		expect(text.endsWith('}\n')).toBe(true)
	})

	test('a JSON file contains the same data', () => {
		expect(JSON.parse(formatJson(data))).toEqual(data)
	})
})
