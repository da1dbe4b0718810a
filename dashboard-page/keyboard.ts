/** Shortcuts of one key. They do nothing while the user types or a dialog is open. */
import { useEffect, useRef } from 'preact/hooks'

interface Handlers {
	/** Shows the view with the search field. */
	search(): void
	refresh(): void
	help(): void
}

const isTyping = (target: EventTarget | null): boolean =>
	target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null

export function useKeyboard(isOn: boolean, handlers: Handlers): void {
	const current = useRef(handlers)
	current.current = handlers
	useEffect(() => {
		const press = (event: KeyboardEvent): void => {
			if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
			if (document.querySelector('dialog[open]')) return
			if (event.key === 'Escape') leave()
			else if (isOn && !isTyping(event.target) && run(event, current.current)) event.preventDefault()
		}
		addEventListener('keydown', press)
		return () => removeEventListener('keydown', press)
	}, [isOn])
}

/** Returns false if the key is not a shortcut. */
function run({ key, target }: KeyboardEvent, handlers: Handlers): boolean {
	if (key === 'j' || key === 'k') moveRow(key === 'j' ? 1 : -1)
	else if (key === 'r') handlers.refresh()
	else if (key === '?') handlers.help()
	else if (key === '/') search(handlers)
	else return key === 'Enter' && openRow(target)
	return true
}

function search(handlers: Handlers): void {
	handlers.search()
	// After the view has been drawn.
	requestAnimationFrame(() => document.querySelector<HTMLElement>('[data-search]')?.focus())
}

function leave(): void {
	const { activeElement } = document
	if (isTyping(activeElement) || activeElement?.matches('[data-row]')) (activeElement as HTMLElement).blur()
}

function moveRow(step: 1 | -1): void {
	const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
	const at = rows.findIndex((row) => row.contains(document.activeElement))
	const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))
	rows[next]?.focus()
}

/** Follows the first link or button of the row with the focus. Returns false if no row has it. */
function openRow(target: EventTarget | null): boolean {
	if (!(target instanceof HTMLElement) || !target.matches('[data-row]')) return false
	target.querySelector<HTMLElement>('a, summary, button:not(.copy)')?.click()
	return true
}
