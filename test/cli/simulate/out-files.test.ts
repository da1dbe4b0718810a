import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkOutFiles, writeOut } from '../../../src/cli/simulate/out-files.ts'
import { Folder } from './files.ts'

const forms = { '.svg': () => '<svg/>', '.html': () => '<p>', '.json': () => '{}' }

describe('a file that is asked for', () => {
	test('is refused before anything runs when its form is not known', async () => {
		for (const file of ['a.png', 'svg', 'a.', ''])
			await expect(checkOutFiles(['ok.svg', file])).rejects.toMatchObject({
				kind: 'usage',
				message: `--out: got '${file}'; takes a file that ends in .svg, .html, .json`,
			})
	})

	test('is refused before anything runs when there is no folder for it', async () => {
		const folder = new Folder()
		const file = folder.at('missing/a.svg')
		await expect(checkOutFiles([file])).rejects.toMatchObject({
			kind: 'notFound',
			message: `--out: there is no folder '${folder.at('missing')}' for '${file}'`,
		})
		const inFile = `${folder.write('a.txt', '')}/b.svg`
		await expect(checkOutFiles([inFile])).rejects.toMatchObject({ kind: 'notFound' })
		await expect(checkOutFiles([folder.at('a.SVG'), 'here.json'])).resolves.toBeUndefined()
	})

	test('is refused before anything runs when it is a folder', async () => {
		const folder = new Folder()
		mkdirSync(folder.at('d.svg'))
		await expect(checkOutFiles([folder.at('d.svg')])).rejects.toMatchObject({
			kind: 'usage',
			message: `--out: '${folder.at('d.svg')}' is a folder; takes a file`,
		})
	})

	test('holds what its ending says, and nothing else is left beside it', async () => {
		const folder = new Folder()
		folder.write('b.html', 'old')
		for (const name of ['a.svg', 'b.html', 'c.JSON']) await writeOut(folder.at(name), forms)
		expect(readdirSync(folder.path)).toEqual(['a.svg', 'b.html', 'c.JSON'])
		expect(readFileSync(folder.at('b.html'), 'utf8')).toBe('<p>')
		expect(readFileSync(folder.at('c.JSON'), 'utf8')).toBe('{}')
	})

	test('stays as it was when the new one can not be made or put there', async () => {
		const folder = new Folder()
		const file = folder.write('a.svg', 'old')
		const failing = {
			...forms,
			'.svg': () => {
				throw new Error('no picture')
			},
		}
		await expect(writeOut(file, failing)).rejects.toMatchObject({
			kind: 'failure',
			message: `--out: '${file}' could not be written: no picture`,
		})
		mkdirSync(folder.at('b.svg'))
		await expect(writeOut(folder.at('b.svg'), forms)).rejects.toMatchObject({ kind: 'failure' })
		expect(readdirSync(folder.path)).toEqual(['a.svg', 'b.svg'])
		expect(readFileSync(file, 'utf8')).toBe('old')
	})

	test('may be a link, and stays one', async () => {
		const folder = new Folder()
		symlinkSync(folder.write('real.svg', 'old'), folder.at('link.svg'))
		await writeOut(folder.at('link.svg'), forms)
		expect(lstatSync(folder.at('link.svg')).isSymbolicLink()).toBe(true)
		expect(readFileSync(folder.at('real.svg'), 'utf8')).toBe('<svg/>')
	})
})
