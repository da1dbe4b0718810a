import { expect, test } from 'vitest'
import { InvalidArgumentError, YaokiError } from 'yaoki'

test('an InvalidArgumentError has the argument, the value and what is expected', () => {
	const error = new InvalidArgumentError('fn', 3, 'a function')
	expect(error).toBeInstanceOf(YaokiError)
	expect(error).toMatchObject({
		name: 'InvalidArgumentError',
		code: 'YAOKI_INVALID_ARGUMENT',
		message: 'Invalid argument "fn": expected a function, got 3',
		argument: 'fn',
		received: 3,
		expected: 'a function',
	})
})
