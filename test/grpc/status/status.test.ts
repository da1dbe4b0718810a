import { status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import * as codes from '../../../src/grpc/status/status.ts'

const { STATUS_NAMES, statusNameOf } = codes

test('the names are the names of grpc-js, at the position of their code', () => {
	const names = Object.entries(status).filter(([, code]) => typeof code === 'number')
	expect(Object.fromEntries(STATUS_NAMES.map((name, code) => [name, code]))).toEqual(
		Object.fromEntries(names),
	)
})

test('the constants have the codes of their names', () => {
	const constants = Object.entries(codes).filter(([, value]) => typeof value === 'number')
	expect(constants.length).toBeGreaterThan(0)
	for (const [name, code] of constants) expect([name, statusNameOf(Number(code))]).toEqual([name, name])
})

test.each([17, -1, 1.5, Number.NaN])('the code %s, which gRPC does not define, is UNKNOWN', (code) => {
	expect(statusNameOf(code)).toBe('UNKNOWN')
})
