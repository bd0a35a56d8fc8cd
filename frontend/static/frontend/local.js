// Times in the reader's time zone, and times and numbers in the reader's format. The hub writes UTC and
// one format, so that shared caches hold one page for everybody.

const languages = navigator.languages;
const moments = new Intl.DateTimeFormat(languages, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});
const { locale } = moments.resolvedOptions();
const NUMBER = /^\u2212?([\d\u202f]+)(?:\.(\d+))?/;

function writeTime(time) {
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.getTime())) return;
  const words = moments.format(moment);
  const { exact } = time.dataset;
  if (exact === undefined) {
    time.title = `${words} (${time.title})`;
    return;
  }
  time.title ||= time.textContent;
  time.textContent = exact ? `${words} (${exact})` : words;
  if (!exact) time.lang = locale;
}

function writeNumber(data) {
  const digits = data.textContent.match(NUMBER)?.[2]?.length ?? 0;
  const format = new Intl.NumberFormat(languages, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  data.textContent = data.textContent.replace(NUMBER, format.format(Number(data.value)).replace("-", "\u2212"));
}

function write() {
  for (const time of document.querySelectorAll("time[datetime]:not([data-since], [data-local])")) {
    time.dataset.local = "";
    writeTime(time);
  }
  for (const data of document.querySelectorAll("data[value]:not([data-local])")) {
    data.dataset.local = "";
    writeNumber(data);
  }
}

new MutationObserver(write).observe(document.body, { childList: true, subtree: true });
write();
