import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { commandHelp, programHelp } from '../../src/cli/help.ts'
import { palette } from '../../src/cli/palette.ts'
import { yaoki } from '../../src/cli/registry.ts'

const page = { columns: 80, paint: palette(false) }
const pkg = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

describe.each(yaoki.commands.map((entry) => [entry.name, entry] as const))('yaoki %s', (name, entry) => {
	test('is named and summed up in the registry as it is where it is declared', async () => {
		const { command } = await entry.load()
		expect({ name: command.name, summary: command.summary }).toEqual({ name, summary: entry.summary })
	})

	test('has examples, each of which calls it, and its help starts with them', async () => {
		const { command } = await entry.load()
		expect(command.examples.length).toBeGreaterThan(0)
		for (const { run } of command.examples) expect(`${run} `).toContain(`yaoki ${name} `)
		expect(commandHelp(yaoki.name, command, page)).toMatch(/^Examples:\n/)
	})

	test('is no group as well, for then its commands could not be reached', () => {
		expect(yaoki.commands.filter((other) => other.name.startsWith(`${name} `))).toEqual([])
	})
})

test('no two commands have the same name, and none is called help', () => {
	const names = yaoki.commands.map(({ name }) => name)
	expect(new Set([...names, 'help']).size).toBe(names.length + 1)
})

test('the bin of the package is this program, in the version of the package', () => {
	expect(pkg.bin).toEqual({ [yaoki.name]: './dist/cli/main.js' })
	expect(yaoki.version()).toBe(pkg.version)
	const main = readFileSync(new URL('../../src/cli/main.ts', import.meta.url), 'utf8')
	expect(main.startsWith('#!/usr/bin/env node\n')).toBe(true)
})

test('its help fits into eighty columns', () => {
	const lines = programHelp(yaoki, '', page).split('\n')
	expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
})
