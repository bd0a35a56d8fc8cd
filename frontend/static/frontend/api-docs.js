// Swagger UI on the schema of this hub: requests go to this hub alone, with the session of the
// browser and its CSRF token.

const place = document.getElementById("console");
const skeleton = document.getElementById("skeleton");
const dark = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  const theme = document.documentElement.dataset.theme;
  document.documentElement.classList.toggle("dark-mode", theme ? theme === "dark" : dark.matches);
}

// The page has a main part, a title and a session of its own: of Swagger UI only the operations.
function layout({ React }) {
  const Operations = ({ getComponent }) => React.createElement(
    "div",
    { className: "swagger-ui" },
    ...["errors", "FilterContainer", "operations"].map((name) => React.createElement(getComponent(name, true), { key: name })),
  );
  return { components: { HubLayout: Operations } };
}

paint();
dark.addEventListener("change", paint);

addEventListener("DOMContentLoaded", () => {
  const csrf = place.dataset.csrf;
  // Until the schema is there, Swagger UI says that it defines no operations.
  const finish = () => {
    skeleton.hidden = true;
    place.hidden = false;
  };
  skeleton.hidden = false;
  place.hidden = true;
  new MutationObserver((_, observer) => {
    if (!place.querySelector(".opblock-tag, .errors-wrapper")) return;
    observer.disconnect();
    finish();
  }).observe(place, { childList: true, subtree: true });
  window.SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    deepLinking: true,
    layout: "HubLayout",
    plugins: [layout],
    // All tags are closed; a link to an operation still opens its own.
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    persistAuthorization: false,
    validatorUrl: null,
    responseInterceptor: (response) => {
      if (response.url?.endsWith(place.dataset.schema) && !response.ok) finish();
      return response;
    },
    // Only what changes something is checked, and only requests of this page carry the token.
    requestInterceptor: (request) => {
      const url = new URL(request.url, location.href);
      if (url.origin === location.origin && !/^(GET|HEAD|OPTIONS)$/.test(request.method ?? "GET")) {
        request.headers["X-CSRFToken"] = csrf;
      }
      return request;
    },
  });
});
