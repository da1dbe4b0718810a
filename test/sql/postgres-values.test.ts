import { expect, test } from 'vitest'
import {
	isUuid,
	numberList,
	oneTextPerShape,
	textList,
	toNumberOrNull,
	uuidList,
	withNumbers,
} from '../../src/sql/postgres-values.ts'

test('a list of texts is a literal of an array, with quotes and backslashes escaped', () => {
	expect(textList(['a', 'b, c', 'say "x"', 'back\\slash', '', null])).toBe(
		'{"a","b, c","say \\"x\\"","back\\\\slash","",NULL}',
	)
})

test('a list of only null values is null, because unnest fills it up', () => {
	expect(textList([null, null])).toBeNull()
	expect(numberList([null])).toBeNull()
	expect(numberList([1, null, 2.5])).toBe('{1,NULL,2.5}')
	expect(uuidList(['a', 'b'])).toBe('{a,b}')
})

test('eight-byte numbers become numbers, whether the driver returns a text, a bigint or a number', () => {
	expect(['7', 7n, 7].map(toNumberOrNull)).toEqual([7, 7, 7])
	expect(toNumberOrNull(null)).toBeNull()
	const row = { at: '5', until: null, name: '6' }
	expect(withNumbers(row, ['at', 'until'])).toEqual({ at: 5, until: null, name: '6' })
})

test('an id is a UUID in either case, and nothing around it', () => {
	const id = '01890a5d-ac96-7000-8000-00000000000a'
	expect([id, id.toUpperCase()].map(isUuid)).toEqual([true, true])
	expect(['', id.slice(1), `${id} `, `{${id}}`, id.replaceAll('-', '')].map(isUuid)).toEqual(
		Array(5).fill(false),
	)
})

test('the text of a shape is written once', () => {
	const written: object[] = []
	const textOf = oneTextPerShape((shape: { readonly isOne: boolean; readonly kinds: readonly string[] }) => {
		written.push(shape)
		return `${shape.isOne} ${shape.kinds.join()}`
	})
	expect(textOf({ isOne: true, kinds: ['a', 'b'] })).toBe('true a,b')
	expect(textOf({ isOne: true, kinds: ['a', 'b'] })).toBe('true a,b')
	expect(textOf({ isOne: false, kinds: ['a'] })).toBe('false a')
	expect(written).toHaveLength(2)
})
